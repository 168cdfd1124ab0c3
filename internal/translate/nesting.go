package translate

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/go-halyard/halyard/internal/translate/load"
)

// This file finds how deeply conditions are nested, for drivers that take those too far in to be true. A compiler nests what follows an early return, or
// a continue, in a condition of its own. Breaks are not nested.

// fewNested is what every driver can nest.
const fewNested = 48

// nesting finds the deepest condition of a kernel.
type nesting struct {
	p     *load.Package
	calls int  // how many the walk is in
	inner bool // in a switch that a break leaves
	most  int
	at    token.Pos
	now   token.Pos // of the statement
	bytes int64     // of arrays and structures that are variables; those of a function count for each call
}

// sizes are the sizes of types in Go where an int has 64 bits.
var sizes = types.SizesFor("gc", "amd64")

// mostLadder is how many conditions are nested, each in the else of the one before.
const mostLadder = 16

// fewBytes is how many bytes the variables of a thread may have on every driver.
const fewBytes = 1024

// nesting returns how deep the conditions of a kernel are nested, and where, and the bytes of the variables of a thread; 0 if every driver takes them.
func (p *Package) nesting(f *function) (most int, at token.Pos, bytes int64) {
	n := &nesting{p: p.Package}
	n.list(f.decl.Body.List, 1) // a guard may be written as a condition around everything
	if n.bytes > fewBytes {
		bytes = n.bytes
	}
	if n.most < fewNested {
		return 0, token.NoPos, bytes
	}
	return n.most, n.at, bytes
}

func (n *nesting) reach(depth int, at token.Pos) {
	if depth > n.most {
		n.most, n.at = depth, at
	}
}

// list looks at the statements of a block, and returns how many more conditions what follows the block is in.
func (n *nesting) list(list []ast.Stmt, depth int) (returns, continues int) {
	for _, s := range list {
		r, c := n.statement(s, depth+returns+continues)
		returns, continues = returns+r, continues+c
	}
	return returns, continues
}

func (n *nesting) statement(s ast.Stmt, depth int) (returns, continues int) {
	block := func(list []ast.Stmt) {
		r, c := n.list(list, depth+1)
		returns, continues = max(returns, min(r, 1)), max(continues, min(c, 1))
	}
	if s != nil {
		n.now = s.Pos()
	}
	was := n.inner
	defer func() { n.inner = was }()
	switch s := s.(type) {
	case nil:
	case *ast.BlockStmt:
		return n.list(s.List, depth)
	case *ast.LabeledStmt:
		return n.statement(s.Stmt, depth+1)
	case *ast.ReturnStmt:
		n.expressions(s, depth)
		return 1, 0
	case *ast.BranchStmt:
		if s.Tok != token.BREAK || s.Label != nil || n.inner {
			return 0, 1
		}
	case *ast.IfStmt:
		if chain := ladder(s); chain != nil {
			return n.statement(chain, depth)
		}
		n.reach(depth+1, s.Pos())
		n.expressions(s.Init, depth)
		n.expressions(s.Cond, depth)
		block(s.Body.List)
		if s.Else != nil {
			block([]ast.Stmt{s.Else})
		}
	case *ast.ForStmt:
		n.expressions(s.Init, depth)
		n.expressions(s.Cond, depth+1)
		n.expressions(s.Post, depth+1)
		n.inner = false
		block(s.Body.List)
		return returns, 0
	case *ast.RangeStmt:
		n.expressions(s.X, depth)
		n.inner = false
		block(s.Body.List)
		return returns, 0
	case *ast.SwitchStmt:
		values := 0
		n.inner = s.Switch.IsValid() // else a ladder, which a break does not leave
		n.expressions(s.Init, depth)
		n.expressions(s.Tag, depth)
		for _, c := range s.Body.List {
			clause := c.(*ast.CaseClause)
			for _, e := range clause.List {
				if values++; values > mostLadder {
					values = 1
				}
				n.reach(depth+values, e.Pos())
				n.expressions(e, depth+values)
			}
			block(clause.Body)
		}
	default:
		n.expressions(s, depth)
	}
	return returns, continues
}

// expressions looks for calls, and for operators whose right side is evaluated under a condition.
func (n *nesting) expressions(in ast.Node, depth int) {
	if in == nil || in == ast.Stmt(nil) || in == ast.Expr(nil) {
		return
	}
	ast.Inspect(in, func(e ast.Node) bool {
		switch e := e.(type) {
		case *ast.Ident:
			if v := n.p.Info.Defs[e]; v != nil && !generic(v.Type()) {
				switch v.Type().Underlying().(type) {
				case *types.Array, *types.Struct:
					n.bytes += sizes.Sizeof(v.Type())
				}
			}
		case *ast.BinaryExpr:
			if e.Op == token.LAND || e.Op == token.LOR {
				n.reach(depth+1, e.Pos())
				n.expressions(e.X, depth)
				n.expressions(e.Y, depth+1)
				return false
			}
		case *ast.CallExpr:
			id, _ := load.Callee(ast.Unparen(e.Fun))
			if f, ok := n.p.Info.Uses[id].(*types.Func); ok && f.Pkg() != nil && f.Pkg().Path() != load.GridPath {
				n.call(f, depth)
			}
		}
		return true
	})
}

// call looks at a function that is called. Its place is that of the call, if it is in another package.
func (n *nesting) call(f *types.Func, depth int) {
	pkg, there := n.p.Home(f.Origin())
	if pkg == nil {
		return
	}
	decl := declOf(pkg, there.Origin())
	if decl == nil || decl.Body == nil || n.calls > 16 {
		return
	}
	inner := &nesting{p: pkg, calls: n.calls + 1}
	inner.list(decl.Body.List, depth)
	n.bytes += inner.bytes
	if pkg == n.p {
		n.reach(inner.most, inner.at)
	} else {
		n.reach(inner.most, n.now)
	}
}

// generic reports whether the size of a type depends on a type parameter.
func generic(t types.Type) bool {
	if _, ok := types.Unalias(t).(*types.TypeParam); ok {
		return true
	}
	switch t := t.Underlying().(type) {
	case *types.Array:
		return generic(t.Elem())
	case *types.Struct:
		for f := range t.Fields() {
			if generic(f.Type()) {
				return true
			}
		}
	}
	return false
}

// ladder returns a long chain of "else if" as a switch, which has no position because a break does not leave it; nil if it is short.
func ladder(s *ast.IfStmt) *ast.SwitchStmt {
	chain := &ast.SwitchStmt{Body: &ast.BlockStmt{}}
	for {
		if s.Init != nil {
			return nil
		}
		chain.Body.List = append(chain.Body.List, &ast.CaseClause{Case: s.If, List: []ast.Expr{s.Cond}, Body: s.Body.List})
		next, ok := s.Else.(*ast.IfStmt)
		if !ok {
			break
		}
		s = next
	}
	if len(chain.Body.List) <= mostLadder {
		return nil
	}
	if last, ok := s.Else.(*ast.BlockStmt); ok {
		chain.Body.List = append(chain.Body.List, &ast.CaseClause{Case: last.Pos(), Body: last.List})
	}
	return chain
}
