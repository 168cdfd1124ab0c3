package load

import (
	"go/ast"
	"go/types"
)

// GridPath is the import path of package grid. The translation recognizes the functions of package grid by their names.
const GridPath = "github.com/go-halyard/halyard/kernel/grid"

// GridType reports whether t is the type of package grid with the given name.
func GridType(t types.Type, name string) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == GridPath && n.Obj().Name() == name
}

// MatrixOf returns the type of the elements of a grid.Matrix or a grid.OutMatrix. For another type it returns nil.
func MatrixOf(t types.Type) types.Type {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.TypeArgs().Len() != 1 || !GridType(n, "Matrix") && !GridType(n, "OutMatrix") {
		return nil
	}
	return n.TypeArgs().At(0)
}

// Callee returns the name of the called function. For a selector it also returns the expression before the dot, which is the receiver of a method or the name
// of a package.
func Callee(fun ast.Expr) (*ast.Ident, ast.Expr) {
	switch x := fun.(type) {
	case *ast.Ident:
		return x, nil
	case *ast.SelectorExpr:
		return x.Sel, x.X
	case *ast.IndexExpr:
		return Callee(ast.Unparen(x.X))
	case *ast.IndexListExpr:
		return Callee(ast.Unparen(x.X))
	}
	return nil, nil
}

// Calls reports whether an expression is a call of the function or method of package grid with the given name.
func (p *Package) Calls(e ast.Expr, name string) bool {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return false
	}
	id, _ := Callee(ast.Unparen(call.Fun))
	obj, ok := p.Info.Uses[id].(*types.Func)
	return ok && obj.Pkg() != nil && obj.Pkg().Path() == GridPath && obj.Name() == name
}
