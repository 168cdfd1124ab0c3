package translate

import (
	"fmt"
	"go/ast"
	"go/types"
)

// matrixOf returns the type of the elements of a grid.Matrix or a grid.OutMatrix, nil for another type.
func matrixOf(t types.Type) types.Type {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.TypeArgs().Len() != 1 || !gridType(n, "Matrix") && !gridType(n, "OutMatrix") {
		return nil
	}
	return n.TypeArgs().At(0)
}

// matrix returns the variable that is a matrix.
func (f *function) matrix(e ast.Expr) *variable {
	if id, ok := ast.Unparen(e).(*ast.Ident); ok {
		if v := f.variable(id); v.kind == matrix {
			return v
		}
	}
	refuse(e.Pos(), "%s", onlyMatrix)
	return nil
}

const onlyMatrix = "a grid.Matrix can only be a parameter; call its methods, or pass it on"

// isMatrix reports whether an expression is a matrix.
func (f *function) isMatrix(e ast.Expr) bool { return e != nil && matrixOf(f.typeOf(e)) != nil }

// matrixCall translates a call of a method of a matrix, apart from Ref.
func (f *function) matrixCall(e *ast.CallExpr, method string, recv ast.Expr) []string {
	v := f.matrix(recv)
	switch method {
	case "Rows":
		return []string{v.c + "_n"}
	case "Cols":
		return []string{v.c + "_m"}
	case "At":
		t := matrixOf(v.typ)
		return []string{f.valueAt(f.cell(v, e), t, e.Pos())}
	case "Set":
		t := matrixOf(v.typ)
		at := f.cell(v, e)
		value := f.exprAs(e.Args[2], t)
		f.line("%s = %s;", f.store(at), value)
		return nil
	case "Ref":
		refuse(e.Pos(), "a pointer has no translation as a value; write *m.Ref(i, j), or m.Ref(i, j) where a field, a method or an argument is meant")
	}
	refuse(e.Pos(), "method %s of grid.Matrix has no translation", method)
	return nil
}

// refOf returns the matrix if an expression is a call of its method Ref.
func (f *function) refOf(e *ast.CallExpr) (v *variable, ok bool) {
	sel, isSel := ast.Unparen(e.Fun).(*ast.SelectorExpr)
	if !isSel || sel.Sel.Name != "Ref" || f.p.pkg.info.Selections[sel] == nil || !f.isMatrix(sel.X) {
		return nil, false
	}
	return f.matrix(sel.X), true
}

// cell returns the place of an element, whose row and column are the first arguments of a call.
func (f *function) cell(v *variable, e *ast.CallExpr) place {
	return f.cellAt(v, e, f.exprAs(e.Args[0], types.Typ[types.Int]), f.exprAs(e.Args[1], types.Typ[types.Int]))
}

// frozenCell is cell with the row and the column stored in variables, so that later statements do not change them.
func (f *function) frozenCell(v *variable, e *ast.CallExpr) place {
	row, column := f.temp(), f.temp()
	f.line("i64 %s = %s;", row, f.exprAs(e.Args[0], types.Typ[types.Int]))
	f.line("i64 %s = %s;", column, f.exprAs(e.Args[1], types.Typ[types.Int]))
	return f.cellAt(v, e, row, column)
}

func (f *function) cellAt(v *variable, e *ast.CallExpr, row, column string) place {
	f.checks = true
	return place{fmt.Sprintf("%s[GO_CELL(%s, %s, %[1]s_n, %[1]s_m, %[4]d)]", v.c, row, column, f.p.site(e.Args[0])), v.space, v.param}
}

// size returns the matrix and the method if a call is m.Rows() or m.Cols().
func (f *function) size(e *ast.CallExpr) (m types.Object, method string) {
	sel, ok := ast.Unparen(e.Fun).(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Rows" && sel.Sel.Name != "Cols" {
		return nil, ""
	}
	if m = f.object(sel.X); m == nil || matrixOf(m.Type()) == nil {
		return nil, ""
	}
	return m, sel.Sel.Name
}
