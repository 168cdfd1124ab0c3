package translate

import (
	"go/ast"
	"go/types"
	"slices"
)

// ordered returns what comes before a loop. GO_ORDERED keeps a compiler from computing several rounds at once, because floats would then be
// added or multiplied in another order, and because Intel's takes stores to elements for independent. It is only before loops that have floats or such
// stores in them, or call a function that may: others may be faster without it.
func (f *function) ordered(loop ast.Stmt) (before string) {
	info := f.p.pkg.info
	ast.Inspect(loop, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok && !info.Types[c.Fun].IsType() && !info.Types[c.Fun].IsBuiltin() {
			before = "GO_ORDERED "
		}
		if slices.ContainsFunc(targets(n), func(e ast.Expr) bool { _, name := ast.Unparen(e).(*ast.Ident); return !name }) {
			before = "GO_ORDERED "
		}
		if e, ok := n.(ast.Expr); ok && info.Types[e].IsValue() {
			if b, ok := f.typeOf(e).Underlying().(*types.Basic); ok && b.Info()&(types.IsFloat|types.IsComplex) != 0 {
				before = "GO_ORDERED "
			}
		}
		return before == ""
	})
	return before
}
