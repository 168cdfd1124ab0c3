// Package build makes the representation of package ir from Go's syntax and types.
//
//   - generic.go finds the types for which a generic kernel is built.
//   - foreign.go builds functions of other packages.
//   - function.go builds a function, and parameter.go its parameters. A function is built once for each list of type arguments, and for each form in
//     which its pointers and slices are passed.
//   - statement.go and loop.go build statements. standard.go has what only functions of Go's own packages may do.
//   - call.go, expression.go and place.go build values and places. part.go builds parts of slices and of arrays, and passes slices to functions.
//   - table.go builds tables, which are variables of the package that nothing changes.
//   - reader.go answers questions about the Go syntax: what a name means, which variables change, which expressions have the same value whenever they are
//     evaluated.
//   - type.go builds types, and fits constants into them.
//   - program.go has the state while functions are built, and refusals.
//
// A Go variable that is only assigned where it is declared becomes a value. Any other variable becomes a local. A call or an atomic operation becomes a let in
// front of the statement. The rest of an expression stays in the statement. So all calls of an expression run before its variables are read, as with Go's
// compiler. Go's specification leaves the order open. If a part of an expression is not always evaluated, such as the right side of &&, its lets are in a
// region of their own.
//
// Go code that has no translation is refused. The error has a position, and a sentence that says what to write instead.
package build

import (
	"go/ast"
	"go/types"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
	"github.com/go-halyard/halyard/internal/translate/load"
)

// Program builds the kernels of a package, and the functions that they call. It returns nil for a package without kernels. If something has
// no translation, the error is a [load.Errors].
func Program(p *load.Package) (*ir.Program, error) {
	if p.Types == nil {
		return nil, nil
	}
	g := newProgram(p)
	g.errs = append(g.errs, p.Refused...)
	for _, e := range p.Errors { // the errors in a function are reported when the function is built
		if p.Outside(e.Pos) {
			g.note(e.Pos, e.Msg)
		}
	}
	for _, decl := range p.Kernels() {
		if obj, ok := p.Info.Defs[decl.Name].(*types.Func); ok {
			g.kernels[obj] = true
		}
	}
	for _, decl := range p.Kernels() {
		g.try(func() {
			_, _, g.fast = load.Mark(decl)
			g.fast = g.fast || p.AllFast
			for _, args := range g.instances(decl) {
				g.try(func() { g.kernel(decl, args) })
			}
		})
	}
	if err := load.Sorted(g.errs); err != nil {
		return nil, err
	}
	return g.made, nil
}

// Functions builds all functions of a package. A printer uses Functions for operations that its target lacks. Their implementations are written in Go: see
// package vulkan.
func Functions(p *load.Package) (*ir.Program, error) {
	g := newProgram(p)
	for _, file := range g.own.Files {
		for _, d := range file.Decls {
			if decl, ok := d.(*ast.FuncDecl); ok {
				g.try(func() { g.function(g.own.Info.Defs[decl.Name].(*types.Func), nil, nil, decl.Pos()) })
			}
		}
	}
	if err := load.Sorted(g.errs); err != nil {
		return nil, err
	}
	return g.made, nil
}

func newProgram(src *load.Package) *program {
	g := &program{
		own: src, pkg: src, known: map[*load.Package]bool{}, context: types.NewContext(),
		decls: map[*types.Func]*ast.FuncDecl{}, kernels: map[*types.Func]bool{}, functions: map[*types.Func][]*function{},
		types: map[types.Type]*ir.Type{}, tables: map[*types.Var]*table{}, effects: map[*ir.Function]*facts.Effects{}, made: &ir.Program{Position: src.Fset.Position},
	}
	g.declare(src)
	return g
}

func (p *program) kernel(decl *ast.FuncDecl, args []types.Type) *function {
	name := decl.Name.Name
	switch {
	case decl.Recv != nil:
		refuse(decl.Pos(), "a kernel cannot be a method; make the receiver a parameter")
	case decl.Type.Results != nil && len(decl.Type.Results.List) > 0:
		refuse(decl.Type.Results.Pos(), "a kernel cannot have results; write them to a slice")
	case len(decl.Type.Params.List) == 0:
		refuse(decl.Name.Pos(), "a kernel begins with one parameter of type grid.Thread, as in func double(t grid.Thread, x []float32)")
	case name == "_" || name == "init" || name == "main":
		refuse(decl.Name.Pos(), "a kernel cannot be called %s; rename it", name)
	}
	obj, ok := p.pkg.Info.Defs[decl.Name].(*types.Func)
	if !ok {
		refuse(decl.Name.Pos(), "this declaration has no translation")
	}
	return p.function(obj, args, nil, decl.Pos())
}

// Part builds a part of a kernel that has the form of a kernel. Its declaration is in none of the package's files, but the package knows its types.
func Part(p *load.Package, decl *ast.FuncDecl) (*ir.Function, error) {
	g := newProgram(p)
	sig, ok := p.Info.TypeOf(decl.Type).(*types.Signature)
	if !ok {
		return nil, nil
	}
	obj := types.NewFunc(decl.Pos(), p.Types, decl.Name.Name, sig)
	g.decls[obj], g.kernels[obj] = decl, true
	var f *function
	g.try(func() { f = g.function(obj, nil, nil, decl.Pos()) })
	if err := load.Sorted(g.errs); err != nil {
		return nil, err
	}
	return f.made, nil
}
