package load

import (
	"go/ast"
	"go/types"
	"os"
	"path/filepath"
	"strings"
)

// Mathematics reports whether a package of Go itself has functions that kernels may call.
func Mathematics(path string) bool {
	return path == "math" || path == "math/bits" || path == "math/cmplx"
}

// load returns a package with its source. It returns nil if the package has no source files, or only files that use cgo.
func (s *others) load(path string) *Package {
	if s == nil {
		return nil
	}
	if p, ok := s.loaded[path]; ok {
		return p
	}
	s.loaded[path] = nil
	l := s.listed[path]
	if l == nil || l.Standard && !Mathematics(path) || len(l.GoFiles) == 0 || path == GridPath {
		return nil
	}
	var files []*ast.File
	constrained := map[string]bool{}
	for _, short := range l.GoFiles {
		file := filepath.Join(l.Dir, short)
		src, err := os.ReadFile(file)
		if err != nil {
			return nil
		}
		if rel, err := filepath.Rel(s.dir, file); err == nil && !strings.HasPrefix(rel, "..") {
			file = rel
		}
		tree, bad := Parse(s.fset, file, src)
		if len(bad) > 0 {
			return nil
		}
		files, constrained[file] = append(files, tree), isConstrained(short, tree)
	}
	p := Check(s.fset, path, files, s.imports)
	p.Dir, p.constrained, p.others, p.Standard = l.Dir, constrained, s, l.Standard
	s.loaded[path] = p
	return p
}

// Import returns a package that a package with kernels imports. For a package of Go itself, or if the source is not available, it returns nil.
func (p *Package) Import(path string) *Package {
	if Mathematics(path) {
		return nil
	}
	return p.others.load(path)
}

// Home loads the package that declares a function from its source, and returns it with its own object for the function. If the package has no source, both
// results are nil. An importing package has its own *types.Func of the function, made from the compiler's export data. Home returns the *types.Func that
// belongs to the source.
func (p *Package) Home(obj *types.Func) (*Package, *types.Func) {
	if obj.Pkg() == nil || obj.Pkg() == p.Types {
		return p, obj
	}
	src := p.others.load(obj.Pkg().Path())
	if src == nil {
		return nil, nil
	}
	scope, name := src.Types.Scope(), obj.Name()
	found := scope.Lookup(name)
	if n := receiver(obj.Origin()); n != nil {
		t := scope.Lookup(n.Obj().Name())
		if t == nil {
			return nil, nil
		}
		found, _, _ = types.LookupFieldOrMethod(types.NewPointer(t.Type()), false, src.Types, name)
	}
	f, ok := found.(*types.Func)
	if !ok {
		return nil, nil
	}
	return src, f.Origin()
}

// receiver returns the type that has a method, or nil.
func receiver(f *types.Func) *types.Named {
	recv := f.Signature().Recv()
	if recv == nil {
		return nil
	}
	t := recv.Type()
	if ptr, ok := t.(*types.Pointer); ok {
		t = ptr.Elem()
	}
	n, _ := types.Unalias(t).(*types.Named)
	return n
}
