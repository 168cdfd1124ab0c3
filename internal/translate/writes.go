package translate

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// This file is what the files whose names begin with phases still find out from the syntax.

// findWrites finds the variables that are assigned to.
func (w *rowWriter) findWrites() {
	info := w.p.Info
	w.writes = map[types.Object]bool{}
	write := func(e ast.Expr) {
		if id := root(info, e); id != nil {
			v := info.ObjectOf(id)
			w.writes[v] = true
			w.written = append(w.written, change{v, e.Pos()})
		}
	}
	ast.Inspect(w.f.decl, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if s := info.Selections[n]; s != nil && s.Kind() == types.MethodVal {
				if sig, ok := s.Obj().Type().(*types.Signature); ok {
					if _, ok := sig.Recv().Type().Underlying().(*types.Pointer); ok {
						write(n.X)
					}
				}
			}
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				if id, ok := l.(*ast.Ident); ok && info.Defs[id] != nil {
					continue
				}
				write(l)
			}
		case *ast.IncDecStmt:
			write(n.X)
		case *ast.RangeStmt:
			if n.Tok == token.ASSIGN {
				for _, l := range []ast.Expr{n.Key, n.Value} {
					if l != nil {
						write(l)
					}
				}
			}
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				write(n.X)
			}
		case *ast.SliceExpr:
			if _, ok := info.TypeOf(n.X).Underlying().(*types.Array); ok { // what is written into the slice is in the array
				write(n.X)
			}
		}
		return true
	})
}

// change is a place where a variable is assigned to.
type change struct {
	v   types.Object
	pos token.Pos
}

// root returns the identifier at the beginning of an expression that is assigned to, or nil if the assignment changes an element of a slice or the
// target of a pointer. For a field through a pointer it is the pointer.
func root(info *types.Info, e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.ParenExpr:
			e = x.X
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			if _, ok := info.TypeOf(x.X).Underlying().(*types.Array); !ok {
				return nil // an element that is reached through a slice or a pointer
			}
			e = x.X
		default:
			return nil
		}
	}
}

// terms returns the parts of a condition that an operator joins.
func terms(e ast.Expr, op token.Token) []ast.Expr {
	e = ast.Unparen(e)
	if b, ok := e.(*ast.BinaryExpr); ok && b.Op == op {
		return append(terms(b.X, op), terms(b.Y, op)...)
	}
	return []ast.Expr{e}
}

// unique returns texts without those that come again.
func unique(all []string) (found []string) {
	for _, s := range all {
		if !slices.Contains(found, s) {
			found = append(found, s)
		}
	}
	return found
}
