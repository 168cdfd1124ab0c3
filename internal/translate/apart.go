package translate

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// apart reports whether threads may take different numbers of rounds of a loop that has another loop in it, or calls a function, which may have one.
//
// PoCL 7.1 lets all threads of a block take the rounds of an inner loop together if all take the same number of them. It does not see that
// some threads may have left the outer loop before, and then lets all leave it when the first does. GO_APART, around the outer loop, is true,
// and for that compiler something that depends on the thread, so that it leaves the loops inside to each thread.
func (f *function) apart(loop ast.Stmt) bool {
	nested, barrier, leaves := false, false, false
	body := (*ast.BlockStmt)(nil)
	switch s := loop.(type) {
	case *ast.ForStmt:
		body, leaves = s.Body, s.Cond == nil || !f.common(s.Cond, s)
	case *ast.RangeStmt:
		body, leaves = s.Body, !f.common(s.X, s)
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			nested = true
		case *ast.ReturnStmt:
			leaves = true
		case *ast.BranchStmt:
			leaves = leaves || n.Tok == token.BREAK || n.Label != nil
		case *ast.CallExpr:
			if sel, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr); ok && gridType(f.typeOf(sel.X), "Thread") {
				barrier = barrier || sel.Sel.Name == "Barrier"
				break
			}
			tv := f.p.pkg.info.Types[n.Fun]
			nested = nested || !tv.IsType() && !tv.IsBuiltin()
		}
		return true
	})
	return nested && leaves && !barrier
}

// around begins the block around a loop.
func (f *function) around(loop ast.Stmt) string {
	if f.apart(loop) {
		return "if (GO_APART) {"
	}
	return "{"
}

// common reports whether the condition of a loop, or what it ranges over, is seen to be the same for all threads: constants, the kernel's
// parameters, lengths of slices, sizes of the grid, and the loop's own variable if it begins with such a value.
func (f *function) common(e ast.Expr, loop ast.Stmt) bool {
	info := f.p.pkg.info
	if tv := info.Types[e]; tv.Value != nil {
		return true
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return f.common(e.X, loop)
	case *ast.BinaryExpr:
		return f.common(e.X, loop) && f.common(e.Y, loop)
	case *ast.CallExpr:
		if sel, ok := ast.Unparen(e.Fun).(*ast.SelectorExpr); ok {
			return gridType(f.typeOf(sel.X), "Thread") && slices.Contains([]string{"Size", "Blocks", "Block"}, sel.Sel.Name)
		}
		tv := info.Types[e.Fun]
		if tv.IsBuiltin() {
			id, ok := ast.Unparen(e.Fun).(*ast.Ident)
			return ok && id.Name == "len" && len(e.Args) == 1
		}
		return tv.IsType() && f.common(e.Args[0], loop)
	case *ast.Ident:
		v := info.ObjectOf(e)
		if s, ok := loop.(*ast.ForStmt); ok && s.Init != nil {
			if init, ok := s.Init.(*ast.AssignStmt); ok && init.Tok == token.DEFINE && len(init.Lhs) == len(init.Rhs) {
				for i, l := range init.Lhs {
					if id, ok := l.(*ast.Ident); ok && info.Defs[id] == v {
						return f.common(init.Rhs[i], nil) && !assigned(info, s.Body, v)
					}
				}
			}
		}
		return f.kernel && f.isParameter(v) && !f.changes(v)
	}
	return false
}

// isParameter reports whether a variable is a parameter of the function.
func (f *function) isParameter(v types.Object) bool {
	params := f.decl.Type.Params
	return v != nil && params.Pos() <= v.Pos() && v.Pos() < params.End()
}

// assigned reports whether a statement may assign to a variable.
func assigned(info *types.Info, in ast.Node, v types.Object) (found bool) {
	is := func(e ast.Expr) bool {
		id, ok := ast.Unparen(e).(*ast.Ident)
		return ok && info.ObjectOf(id) == v
	}
	ast.Inspect(in, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			found = found || slices.ContainsFunc(n.Lhs, is)
		case *ast.IncDecStmt:
			found = found || is(n.X)
		case *ast.RangeStmt:
			found = found || n.Key != nil && is(n.Key) || n.Value != nil && is(n.Value)
		case *ast.UnaryExpr:
			found = found || n.Op == token.AND && is(n.X)
		}
		return !found
	})
	return found
}
