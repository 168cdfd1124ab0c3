package translate

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/go-halyard/halyard/internal/translate/load"
)

// fixed reports whether a type is one of real numbers with the same number of bits on every processor.
func fixed(t types.Type) bool {
	b, ok := t.(*types.Basic)
	return ok && b.Info()&(types.IsInteger|types.IsFloat) != 0 && b.Kind() != types.Int && b.Kind() != types.Uint && b.Kind() != types.Uintptr
}

// numberIn returns the type of the elements of an array, or of the arrays in it. Any other type is returned unchanged.
func numberIn(t types.Type) types.Type {
	for a, ok := t.Underlying().(*types.Array); ok; a, ok = t.Underlying().(*types.Array) {
		t = a.Elem()
	}
	return t
}

// isBarrier reports whether a statement is a barrier.
func (p *Package) isBarrier(s ast.Stmt) bool {
	e, ok := s.(*ast.ExprStmt)
	return ok && p.Calls(e.X, "Barrier")
}

// hasBarrier reports whether a barrier is in a part of a kernel.
func (p *Package) hasBarrier(n ast.Node) bool {
	found := false
	ast.Inspect(n, func(n ast.Node) bool {
		s, ok := n.(ast.Stmt)
		found = found || ok && p.isBarrier(s)
		return !found
	})
	return found
}

// list returns a kernel's statements up to the last that does something. Barriers at its end are left out: nothing comes after them, and threads that have
// returned before would have to come to them.
func (p *Package) list(kernel *ast.FuncDecl) []ast.Stmt {
	list := kernel.Body.List
	for n := len(list); n > 0; n-- {
		switch s := list[n-1].(type) {
		case *ast.ReturnStmt, *ast.EmptyStmt:
		default:
			if !p.isBarrier(s) {
				return list[:n]
			}
		}
	}
	return nil
}

// open returns the first place in a function where the type of an expression depends on a type parameter, token.NoPos if there is none.
func (p *Package) open(decl *ast.FuncDecl) (at token.Pos) {
	ast.Inspect(decl, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok && !at.IsValid() {
			if t := p.Info.TypeOf(e); t != nil && load.Mentions(t, func(*types.TypeParam) bool { return true }) {
				at = e.Pos()
			}
		}
		return true
	})
	return at
}
