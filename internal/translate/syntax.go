package translate

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"

	"github.com/go-halyard/halyard/internal/translate/load"
)

// number is what is known of a type of numbers, or of bool.
type number struct {
	bits   int // 8 for a bool
	signed bool
	float  bool
	truth  bool // it is a bool
}

var numbers = map[types.BasicKind]number{
	types.Bool: {8, false, false, true}, types.UntypedBool: {8, false, false, true},
	types.Int: {64, true, false, false}, types.Int8: {8, true, false, false}, types.Int16: {16, true, false, false},
	types.Int32: {32, true, false, false}, types.Int64: {64, true, false, false},
	types.Uint: {64, false, false, false}, types.Uint8: {8, false, false, false}, types.Uint16: {16, false, false, false},
	types.Uint32: {32, false, false, false}, types.Uint64: {64, false, false, false},
	types.Float32: {32, true, true, false}, types.Float64: {64, true, true, false},
	types.UntypedInt: {64, true, false, false}, types.UntypedRune: {32, true, false, false}, types.UntypedFloat: {64, true, true, false},
}

// numberOf returns what is known of a type of numbers or bools. It reports false for other types.
func numberOf(t types.Type) (number, bool) {
	if b, ok := t.Underlying().(*types.Basic); ok {
		n, ok := numbers[b.Kind()]
		return n, ok
	}
	return number{}, false
}

// matrixSize returns the matrix and the method if a call is m.Rows() or m.Cols().
func (p *Package) matrixSize(e *ast.CallExpr) (m types.Object, method string) {
	sel, ok := ast.Unparen(e.Fun).(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Rows" && sel.Sel.Name != "Cols" {
		return nil, ""
	}
	id, ok := ast.Unparen(sel.X).(*ast.Ident)
	if !ok {
		return nil, ""
	}
	if m = p.Info.ObjectOf(id); m == nil || load.MatrixOf(m.Type()) == nil {
		return nil, ""
	}
	return m, sel.Sel.Name
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

// positive reports whether an expression is a positive constant.
func positive(info *types.Info, e ast.Expr) bool {
	v := info.Types[e].Value
	return v != nil && v.Kind() == constant.Int && constant.Sign(v) > 0
}
