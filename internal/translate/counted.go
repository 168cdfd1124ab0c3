package translate

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
)

// unrolled returns what comes before a short loop over an array of the thread's own that has at most 16 numbers. Compilers that do not unroll the
// loop leave the array in memory.
func (f *function) unrolled(loop ast.Stmt) string {
	info, s := f.p.pkg.info, &stepCounter{p: f.p.pkg, kernel: f.decl}
	var own bool
	var all, rounds bound
	if s.unknown(func() {
		small := func(e ast.Expr) bool {
			a, ok := f.typeOf(e).Underlying().(*types.Array)
			return ok && sizeOf(a) <= 16*8
		}
		var v types.Object
		all = s.block(loop)
		switch n := loop.(type) {
		case *ast.ForStmt:
			v, rounds = defined(info, n.Init.(*ast.AssignStmt).Lhs[0]), s.rounds(n)
		case *ast.RangeStmt:
			s.known, s.counts = map[types.Object]bound{}, map[types.Object]bool{}
			v, rounds, own = defined(info, n.Key), s.each(n), n.Value != nil && small(n.X)
		}
		ast.Inspect(loop, func(n ast.Node) bool {
			at, ok := n.(*ast.IndexExpr)
			if !ok || root(info, at) == nil {
				return true
			}
			if _, elsewhere := info.TypeOf(root(info, at)).(*types.Pointer); !elsewhere && small(at.X) {
				ast.Inspect(at.Index, func(n ast.Node) bool {
					id, ok := n.(*ast.Ident)
					own = own || ok && v != nil && info.Uses[id] == v
					return !own
				})
			}
			return !own
		})
	}) || !own || all.plus > 1024 || rounds.plus < 2 || rounds.plus > 16 {
		return ""
	}
	return fmt.Sprintf("GO_UNROLL(%d) ", rounds.plus)
}

// stepped translates the step of a loop that counts up, if the sum is never too large for its type, and reports whether it did. In C such a sum may not
// wrap around, and compilers know how many rounds there are.
func (f *function) stepped(loop *ast.ForStmt) (ok bool) {
	var i, step ast.Expr
	switch post := loop.Post.(type) {
	case *ast.IncDecStmt:
		i, ok = post.X, post.Tok == token.INC
	case *ast.AssignStmt:
		i, step, ok = post.Lhs[0], post.Rhs[0], post.Tok == token.ADD_ASSIGN
	}
	v := f.object(i)
	if !ok || v == nil || loop.Cond == nil || loop.Init == nil || v.Pos() < loop.Init.Pos() || v.Pos() > loop.Init.End() {
		return false
	}
	s := &stepCounter{p: f.p.pkg, kernel: f.decl, values: map[types.Object]ast.Expr{}, writes: map[types.Object]bool{}}
	s.survey()
	for _, part := range []ast.Node{loop.Cond, loop.Body} {
		s.changes(part, func(o types.Object) { ok = ok && o != v })
	}
	n, _ := numberOf(f.typeOf(i))
	if !ok || !n.signed || n.float || n.bits < 32 {
		return false
	}
	limit, by := int64(1)<<(n.bits-1)-1, int64(1)
	if step != nil {
		by, ok = s.atMost(step, limit), s.natural(step)
	}
	if !ok || max(s.last(loop.Cond, v, limit), 1) > limit-by {
		return false
	}
	at, text := f.place(i), f.constant(constant.MakeInt64(1), f.typeOf(i), i.Pos())
	if step != nil {
		text = f.exprAs(step, f.typeOf(i))
	}
	f.line("%s = (%s + %s);", f.store(at), f.read(at, i.Pos()), text)
	return true
}

// last returns what a variable is at most in a loop with a condition: the limit if that does not follow from it.
func (s *stepCounter) last(cond ast.Expr, v types.Object, limit int64) int64 {
	c, ok := ast.Unparen(cond).(*ast.BinaryExpr)
	switch {
	case ok && c.Op == token.LAND:
		return min(s.last(c.X, v, limit), s.last(c.Y, v, limit))
	case ok && (c.Op == token.LSS || c.Op == token.LEQ):
		if id, ok := ast.Unparen(c.X).(*ast.Ident); !ok || s.p.info.Uses[id] != v {
			return limit
		}
		most := s.atMost(c.Y, limit)
		if c.Op == token.LSS && most > 0 {
			most--
		}
		return most
	}
	return limit
}

// atMost returns what a whole number is at most: the limit if that is not known. No memory has 2^57 bytes.
func (s *stepCounter) atMost(e ast.Expr, limit int64) int64 {
	info := s.p.info
	if c := info.Types[e].Value; c != nil {
		n, _ := constant.Int64Val(constant.ToInt(c))
		return n
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		if v := info.ObjectOf(e); s.values[v] != nil && !s.writes[v] {
			return s.atMost(s.values[v], limit)
		}
	case *ast.CallExpr:
		id, _ := ast.Unparen(e.Fun).(*ast.Ident)
		switch info.ObjectOf(id) {
		case types.Universe.Lookup("len"):
			return 1 << 57
		case types.Universe.Lookup("min"):
			for _, arg := range e.Args {
				limit = min(limit, s.atMost(arg, limit))
			}
		}
	case *ast.BinaryExpr:
		if by := info.Types[e.Y].Value; by != nil && constant.Sign(by) > 0 && (e.Op == token.QUO || e.Op == token.SUB) && s.natural(e.X) {
			return s.atMost(e.X, limit)
		}
	}
	return limit
}
