package build

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/go-halyard/halyard/internal/translate"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

const gridPath = "github.com/go-halyard/halyard/kernel/grid"

// home returns the package of a function, with its source, and the function there. The package is nil if it has no source. Where a
// package imports another, it knows the other's functions by what the compiler has exported, and these are not the same objects.
func (p *program) home(obj *types.Func) (*translate.Source, *types.Func) {
	if obj.Pkg() == nil || obj.Pkg() == p.pkg.Types {
		return p.pkg, obj
	}
	path := obj.Pkg().Path()
	src, ok := p.sources[path]
	if !ok {
		src = p.own.Import(path)
		p.sources[path] = src
	}
	if src == nil {
		return nil, nil
	}
	scope, name := src.Types.Scope(), obj.Name()
	if recv := obj.Origin().Type().(*types.Signature).Recv(); recv != nil {
		t := recv.Type()
		if ptr, ok := t.(*types.Pointer); ok {
			t = ptr.Elem()
		}
		n, ok := types.Unalias(t).(*types.Named)
		if !ok || scope.Lookup(n.Obj().Name()) == nil {
			return nil, nil
		}
		found, _, _ := types.LookupFieldOrMethod(types.NewPointer(scope.Lookup(n.Obj().Name()).Type()), false, src.Types, name)
		f, ok := found.(*types.Func)
		if !ok {
			return nil, nil
		}
		return src, f.Origin()
	}
	f, ok := scope.Lookup(name).(*types.Func)
	if !ok {
		return nil, nil
	}
	return src, f
}

// called returns a function that is called, which may be one of another package. If that has no translation, the error is at the call, and
// names the place in the other package.
func (p *program) called(obj *types.Func, args []types.Type, spaces []ir.Space, pos token.Pos) *function {
	src, there := p.home(obj)
	switch {
	case src == nil:
		refuse(pos, "%s is a function of another package; write one in this package, and call that", obj.FullName())
	case src == p.pkg:
		return p.function(obj, args, spaces, pos)
	}
	p.declare(src)
	from, before := p.pkg, len(p.errs)
	f := func() *function {
		defer func() { p.pkg = from }()
		p.pkg = src
		return p.function(there, args, spaces, pos)
	}()
	if bad := slices.Clone(p.errs[before:]); len(bad) > 0 {
		p.errs = p.errs[:before]
		refuse(pos, "%s, which is called here, has no translation: %v", obj.FullName(), bad[0])
	}
	return f
}

// declare makes the functions of a package known.
func (p *program) declare(src *translate.Source) {
	if p.known[src] {
		return
	}
	p.known[src] = true
	for _, file := range src.Files {
		for _, d := range file.Decls {
			if decl, ok := d.(*ast.FuncDecl); ok {
				if obj, ok := src.Info.Defs[decl.Name].(*types.Func); ok {
					p.decls[obj] = decl
				}
			}
		}
	}
}
