package translate

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// listed is what the go command says of a package.
type listed struct {
	Dir, Name, ImportPath, Export             string
	GoFiles, CgoFiles                         []string
	TestGoFiles, XTestGoFiles, IgnoredGoFiles []string
	DepOnly, Standard                         bool
	Error                                     *struct{ Err string }
}

// foreign are the packages that kernels may call functions of: those that the packages with kernels import, apart from Go's own.
type foreign struct {
	fset    *token.FileSet
	imports types.Importer
	dir     string              // where the go command ran
	listed  map[string]*listed  // by import path
	loaded  map[string]*Package // by import path; nil if there is no source
}

// load returns a package with its source, or nil if it has none in Go alone.
func (s *foreign) load(path string) *Package {
	if s == nil {
		return nil
	}
	if p, ok := s.loaded[path]; ok {
		return p
	}
	s.loaded[path] = nil
	l := s.listed[path]
	if l == nil || l.Standard || len(l.GoFiles) == 0 || path == gridPath {
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
		tree, bad := parse(s.fset, file, src)
		if len(bad) > 0 {
			return nil
		}
		files, constrained[file] = append(files, tree), isConstrained(short, tree)
	}
	p := check(s.fset, path, files, s.imports)
	p.Dir, p.constrained, p.foreign = l.Dir, constrained, s
	s.loaded[path] = p
	return p
}

// home returns the package of a function, with its source, and the function there. The package is nil if it has no source. Where a
// package imports another, it knows the other's functions by what the compiler has exported, and these are not the same objects.
func (p *program) home(obj *types.Func) (*Package, *types.Func) {
	if obj.Pkg() == nil || obj.Pkg() == p.pkg.types {
		return p.pkg, obj
	}
	pkg := p.own.foreign.load(obj.Pkg().Path())
	if pkg == nil {
		return nil, nil
	}
	scope, name := pkg.types.Scope(), obj.Name()
	if recv := obj.Origin().Type().(*types.Signature).Recv(); recv != nil {
		t := recv.Type()
		if ptr, ok := t.(*types.Pointer); ok {
			t = ptr.Elem()
		}
		n, ok := types.Unalias(t).(*types.Named)
		if !ok || scope.Lookup(n.Obj().Name()) == nil {
			return nil, nil
		}
		found, _, _ := types.LookupFieldOrMethod(types.NewPointer(scope.Lookup(n.Obj().Name()).Type()), false, pkg.types, name)
		f, ok := found.(*types.Func)
		if !ok {
			return nil, nil
		}
		return pkg, f.Origin()
	}
	f, ok := scope.Lookup(name).(*types.Func)
	if !ok {
		return nil, nil
	}
	return pkg, f
}

// called returns the translation of a function, which may be one of another package. If that has none, the error is at the call, and
// names the place in the other package.
func (p *program) called(obj *types.Func, args []types.Type, spaces []space, pos token.Pos) *function {
	pkg, there := p.home(obj)
	switch {
	case pkg == nil:
		refuse(pos, "%s is a function of another package; write one in this package, and call that", obj.FullName())
	case pkg == p.pkg:
		return p.function(obj, args, spaces, pos)
	}
	p.declare(pkg)
	from, before := p.pkg, len(p.errs)
	f := func() *function {
		defer func() { p.pkg = from }()
		p.pkg = pkg
		return p.function(there, args, spaces, pos)
	}()
	if bad := slices.Clone(p.errs[before:]); len(bad) > 0 {
		p.errs = p.errs[:before]
		refuse(pos, "%s, which is called here, has no translation: %v", obj.FullName(), bad[0])
	}
	return f
}

// declare makes the functions of a package known.
func (p *program) declare(pkg *Package) {
	if p.known[pkg] {
		return
	}
	p.known[pkg] = true
	for _, file := range pkg.files {
		for _, d := range file.Decls {
			if decl, ok := d.(*ast.FuncDecl); ok {
				if obj, ok := pkg.info.Defs[decl.Name].(*types.Func); ok {
					p.decls[obj] = decl
				}
			}
		}
	}
	p.consts(pkg)
}

// consts notes the packages whose constants the constants of a package are made of.
func (p *program) consts(pkg *Package) {
	for _, file := range pkg.files {
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.CONST {
				p.usedIn(pkg, g)
			}
		}
	}
}

// usedIn notes the packages whose names a part of a file uses.
func (p *program) usedIn(pkg *Package, n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && pkg.info.Uses[id] != nil {
			p.uses(pkg.info.Uses[id].Pkg())
		}
		return true
	})
}

// uses notes that the translation depends on a package.
func (p *program) uses(t *types.Package) {
	if t == nil || t == p.own.types {
		return
	}
	if pkg := p.own.foreign.load(t.Path()); pkg != nil && !p.took[pkg] {
		p.took[pkg] = true
		p.consts(pkg)
	}
}

// files returns the names of all files that the translation is made of, sorted.
func (p *program) files() (names []string) {
	for pkg := range maps.Keys(p.took) {
		for _, file := range pkg.files {
			names = append(names, p.own.Fset.Position(file.Package).Filename)
		}
	}
	for _, file := range p.own.files {
		names = append(names, p.own.Fset.Position(file.Package).Filename)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(a, b) })
	return slices.Compact(names)
}

// importable refuses a type of another package that the generated file cannot name, and notes the imports that it needs for others.
func (f *function) importable(t types.Type, pos token.Pos) {
	types.TypeString(t, func(q *types.Package) string {
		if q == f.p.own.types {
			return ""
		}
		path, used := generatedImports[q.Name()]
		switch was := f.p.own.imported[q.Name()]; {
		case used && path == q.Path():
			return q.Name()
		case used || was != "" && was != q.Path() || f.p.own.types.Scope().Lookup(q.Name()) != nil:
			refuse(pos,
				"type %s belongs to package %q, whose name %s means something else in the generated file; declare a type in this package", t, q.Path(), q.Name())
		case q.Name() == "main" || strings.HasPrefix(q.Path(), "vendor/"):
			refuse(pos, "type %s belongs to another package, which cannot be imported; declare a type in this package", t)
		}
		if f.p.own.imported == nil {
			f.p.own.imported = map[string]string{}
		}
		f.p.own.imported[q.Name()] = q.Path()
		return q.Name()
	})
}

// source returns the package and the text of a function, which may be of another package; nil if that is not known.
func (p *Package) source(f *types.Func) (*Package, *ast.FuncDecl) {
	pkg, there := (&program{own: p, pkg: p}).home(f.Origin())
	if pkg == nil {
		return nil, nil
	}
	return pkg, pkg.declOf(there.Origin())
}
