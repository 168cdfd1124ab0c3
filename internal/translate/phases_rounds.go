package translate

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/load"
)

// This file makes the loops over the threads of a phase shorter, and their use of memory more even.
//
// A phase that is one if statement runs only the threads that its condition lets in, where that is a bound of the thread's place.
//
// In a loop such as
//
//	for i := t.Global(0); i < len(a); i += t.Size(0) * t.Blocks(0) {
//		sum += a[i]
//	}
//
// a thread alone would take elements that are far apart, and the next thread those beside them. So all threads of a block take one round of
// the loop together, and then the next one. They may, because nobody could tell: such a loop stores nothing in memory, cannot panic, and
// runs to its end.

// rounds is such a loop.
type rounds struct {
	loop      *ast.ForStmt
	v         types.Object // the loop's variable: in each round the thread's place in its block, plus a number that all threads have
	stop      ast.Expr
	step      ast.Expr // nil for 1
	loads     []roundLoad
	round     string // the variable with the number that all threads have
	remaining string // how many elements are left
}

// roundLoad is an element that a thread loads: that with the loop variable plus an offset as its index, or with an index that all threads
// have.
type roundLoad struct {
	slice  ast.Expr
	offset []ast.Expr // each with a sign
	minus  []bool
	fixed  ast.Expr // or else
}

// roundsOf returns a loop whose rounds the threads of a block may take together, or nil.
func (ph *phaseWriter) roundsOf(s ast.Stmt) *rounds {
	info := ph.p.Info
	loop, ok := s.(*ast.ForStmt)
	if !ok || loop.Init == nil || loop.Cond == nil || loop.Post == nil {
		return nil
	}
	init, ok := loop.Init.(*ast.AssignStmt)
	if !ok || init.Tok != token.DEFINE || len(init.Lhs) != 1 || len(init.Rhs) != 1 {
		return nil
	}
	r := &rounds{loop: loop, v: defined(info, init.Lhs[0])}
	if r.v == nil || r.v.Type() != types.Typ[types.Int] || ph.slope(init.Rhs[0]) != 1 {
		return nil
	}
	is := func(e ast.Expr) bool {
		id, ok := ast.Unparen(e).(*ast.Ident)
		return ok && info.ObjectOf(id) == r.v
	}
	c, ok := ast.Unparen(loop.Cond).(*ast.BinaryExpr)
	switch {
	case ok && c.Op == token.LSS && is(c.X):
		r.stop = c.Y
	case ok && c.Op == token.GTR && is(c.Y):
		r.stop = c.X
	default:
		return nil
	}
	switch post := loop.Post.(type) {
	case *ast.IncDecStmt:
		if post.Tok != token.INC || !is(post.X) {
			return nil
		}
	case *ast.AssignStmt:
		if post.Tok != token.ADD_ASSIGN || !is(post.Lhs[0]) {
			return nil
		}
		r.step = post.Rhs[0]
	default:
		return nil
	}
	for _, e := range []ast.Expr{r.stop, r.step} {
		if e != nil && !ph.settledInt(e, false) {
			return nil
		}
	}
	changes := slices.ContainsFunc(ph.written, func(c change) bool {
		return c.v == r.v && loop.Body.Pos() <= c.pos && c.pos < loop.Body.End()
	})
	if changes || len(loop.Body.List) == 0 || !ph.steady(r, loop.Body.List) || len(r.loads) == 0 {
		return nil
	}
	return r
}

// steady reports whether statements only assign to the thread's own variables, and cannot panic if the indexes of their loads, which it
// notes, are within their slices.
func (ph *phaseWriter) steady(r *rounds, list []ast.Stmt) bool {
	info := ph.p.Info
	for _, s := range list {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if len(s.Lhs) != len(s.Rhs) {
				return false
			}
			for i, l := range s.Lhs {
				if _, ok := ast.Unparen(l).(*ast.Ident); !ok || !ph.harmless(r, s.Rhs[i]) {
					return false
				}
			}
			switch s.Tok {
			case token.QUO_ASSIGN, token.REM_ASSIGN, token.SHL_ASSIGN, token.SHR_ASSIGN:
				if n, ok := numberOf(info.TypeOf(s.Lhs[0])); (!ok || !n.float) && !positive(info, s.Rhs[0]) {
					return false
				}
			}
		case *ast.IncDecStmt:
			if _, ok := ast.Unparen(s.X).(*ast.Ident); !ok {
				return false
			}
		case *ast.IfStmt:
			if s.Init != nil && !ph.steady(r, []ast.Stmt{s.Init}) || !ph.harmless(r, s.Cond) || !ph.steady(r, s.Body.List) {
				return false
			}
			if s.Else != nil && !ph.steady(r, []ast.Stmt{s.Else}) {
				return false
			}
		case *ast.BlockStmt:
			if !ph.steady(r, s.List) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// positive reports whether an expression is a positive constant.
func positive(info *types.Info, e ast.Expr) bool {
	v := info.Types[e].Value
	return v != nil && v.Kind() == constant.Int && constant.Sign(v) > 0
}

// harmless reports whether an expression cannot panic and changes nothing, if the loads that it notes are within their slices.
func (ph *phaseWriter) harmless(r *rounds, e ast.Expr) bool {
	info := ph.p.Info
	if info.Types[e].Value != nil {
		return true
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return ph.harmless(r, e.X)
	case *ast.Ident:
		_, number := numberOf(info.TypeOf(e))
		return number
	case *ast.UnaryExpr:
		return e.Op != token.AND && ph.harmless(r, e.X)
	case *ast.BinaryExpr:
		n, ok := numberOf(info.TypeOf(e))
		switch e.Op {
		case token.QUO, token.REM, token.SHL, token.SHR:
			if (!ok || !n.float) && !positive(info, e.Y) {
				return false
			}
		}
		return ph.harmless(r, e.X) && ph.harmless(r, e.Y)
	case *ast.CallExpr:
		if method, _, ok := ph.threadCall(e); ok {
			return method != "Barrier"
		}
		if info.Types[e.Fun].IsType() {
			_, number := numberOf(info.TypeOf(e))
			return number && len(e.Args) == 1 && ph.harmless(r, e.Args[0])
		}
		return ph.pureCall(e) && !slices.ContainsFunc(e.Args, func(a ast.Expr) bool { return !ph.harmless(r, a) })
	case *ast.IndexExpr:
		l := roundLoad{slice: e.X}
		if !ph.indexable(e.X) {
			return false
		}
		switch {
		case ph.settledInt(e.Index, false):
			l.fixed = e.Index
		case !ph.offset(r, e.Index, false, &l) || len(l.offset) == 0:
			return false
		}
		r.loads = append(r.loads, l)
		return true
	}
	return false
}

// quiet reports whether an expression cannot panic and changes nothing.
func (ph *phaseWriter) quiet(e ast.Expr) bool {
	var r rounds
	return ph.settledInt(e, true) || ph.harmless(&r, e) && len(r.loads) == 0
}

// pureCall reports whether a call is of a function of Go or of package math that takes numbers and does not panic.
func (ph *phaseWriter) pureCall(c *ast.CallExpr) bool {
	id, pkg := load.Callee(ast.Unparen(c.Fun))
	switch obj := ph.p.Info.Uses[id].(type) {
	case *types.Builtin:
		return obj.Name() == "min" || obj.Name() == "max"
	case *types.Func:
		return pkg != nil && obj.Pkg() != nil && obj.Pkg().Path() == "math"
	}
	return false
}

// indexable reports whether an expression is a slice that is a parameter, or shared memory, and its elements are numbers.
func (ph *phaseWriter) indexable(e ast.Expr) bool {
	info := ph.p.Info
	id, ok := ast.Unparen(e).(*ast.Ident)
	if !ok {
		return false
	}
	t := info.TypeOf(e).Underlying()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem().Underlying()
	}
	var elem types.Type
	switch t := t.(type) {
	case *types.Slice:
		elem = t.Elem()
	case *types.Array:
		elem = t.Elem()
	default:
		return false
	}
	_, number := numberOf(elem)
	v := info.ObjectOf(id)
	return number && (slices.Contains(ph.shared, v) || slices.Contains(ph.rowWriter.params, v))
}

// offset notes the terms of an index: among them is the loop's variable, once and not subtracted, and the others are the same for all
// threads.
func (ph *phaseWriter) offset(r *rounds, e ast.Expr, minus bool, l *roundLoad) bool {
	info := ph.p.Info
	if t, ok := info.TypeOf(e).(*types.Basic); !ok || t.Kind() != types.Int && t.Kind() != types.UntypedInt {
		return false
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		if info.ObjectOf(e) == r.v {
			for _, o := range l.offset {
				if o == nil {
					return false // twice
				}
			}
			l.offset, l.minus = append(l.offset, nil), append(l.minus, minus)
			return !minus
		}
	case *ast.BinaryExpr:
		if (e.Op == token.ADD || e.Op == token.SUB) && !ph.settledInt(e, false) {
			return ph.offset(r, e.X, minus, l) && ph.offset(r, e.Y, minus != (e.Op == token.SUB), l)
		}
	}
	if !ph.settledInt(e, false) {
		return false
	}
	l.offset, l.minus = append(l.offset, e), append(l.minus, minus)
	return true
}

// slope returns by how much a number of type int grows from a thread to the next one along the first dimension, 0 or 1, or -1 if that is
// not known.
func (ph *phaseWriter) slope(e ast.Expr) int {
	info := ph.p.Info
	if t, ok := info.TypeOf(e).(*types.Basic); !ok || t.Kind() != types.Int && t.Kind() != types.UntypedInt {
		return -1
	}
	if ph.settledInt(e, false) {
		return 0
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		if x := ph.again[info.ObjectOf(e)]; x != nil {
			return ph.slope(x)
		}
	case *ast.CallExpr:
		if method, dim, ok := ph.threadCall(e); ok && dim == 0 && (method == "Local" || method == "Global") {
			return 1
		}
	case *ast.BinaryExpr:
		x, y := ph.slope(e.X), ph.slope(e.Y)
		switch {
		case x < 0 || y < 0:
		case e.Op == token.ADD && x+y <= 1:
			return x + y
		case e.Op == token.SUB && y <= x:
			return x - y
		}
	}
	return -1
}

// Threads take rounds together in blocks with a row of so many. With fewer it does not pay, and with more what they keep fills the cache.
const (
	fewestTogether = 16
	mostTogether   = 4096
)

// far is a number so far from the ends of int that two of its size can be added. It depends on how many bits an int has where the file is compiled.
const far = "int(^uint(0)>>2)"

// writeRounds writes a loop whose rounds the threads take together if all indexes are within their slices, and else one by one.
func (ph *phaseWriter) writeRounds(b *strings.Builder, p *phase) bool {
	r := p.rounds
	first := r.loop.Init.(*ast.AssignStmt).Rhs[0]
	begin, ok1 := ph.values([]ast.Expr{first})
	stop, ok2 := ph.values([]ast.Expr{r.stop})
	step, ok3 := "1", true
	if r.step != nil {
		step, ok3 = ph.values([]ast.Expr{r.step})
	}
	if !ok1 || !ok2 || !ok3 {
		return false
	}
	r.round, r.remaining = ph.fresh("round"), ph.fresh("left")
	end, each, from, to := ph.fresh("stop"), ph.fresh("step"), ph.fresh("from"), ph.fresh("to")
	b.WriteString("{\n")
	fmt.Fprintf(b, "%s, %s, %s := 0, 0, 0 // of the first thread\n_, _, _ = %[1]s, %[2]s, %[3]s\n", ph.local[0], ph.local[1], ph.local[2])
	if !ph.writeAgain(b, &ast.ExprStmt{X: first}) {
		return false
	}
	fmt.Fprintf(b, "%s, %s, %s := %s, %s, int(%s)\n%s, %s := %[1]s, %[2]s\n", r.round, end, each, begin, stop, step, from, to)
	var within []string
	for _, l := range r.loads {
		slice, ok := ph.values([]ast.Expr{l.slice})
		if !ok {
			return false
		}
		if l.fixed != nil {
			at, ok := ph.values([]ast.Expr{l.fixed})
			if !ok {
				return false
			}
			within = append(within, fmt.Sprintf(" && uint64(%s) < uint64(len(%s))", at, slice))
			continue
		}
		offset := ""
		for i, o := range l.offset {
			if o == nil {
				continue
			}
			text, ok := ph.values([]ast.Expr{o})
			if !ok {
				return false
			}
			sign := "+"
			if l.minus[i] {
				sign = "-"
			}
			offset += fmt.Sprintf(" %s (%s)", sign, text)
		}
		if offset == "" {
			offset = "0"
		}
		within = append(within, fmt.Sprintf("%[1]s, %[2]s = grid.Within(%[1]s, %[2]s, %[3]s, len(%[4]s))\n", from, to, offset, slice))
	}
	within = unique(within)
	for _, w := range within {
		if w[0] != ' ' {
			b.WriteString(w)
		}
	}
	fmt.Fprintf(b, "if %s == %s && %s == %s && %[2]s >= -%[6]s && %[4]s <= %[6]s && %[5]s > 0 && %[5]s < %[6]s", from, r.round, to, end, each, far)
	fmt.Fprintf(b, " && %s.Size[0] >= %d && %[1]s.Size[0] <= %[3]d", ph.block, fewestTogether, mostTogether)
	for _, w := range within {
		if w[0] == ' ' {
			b.WriteString(w)
		}
	}
	b.WriteString(" {\n")
	if v, args := ph.vectors(p.inside[0]); v != nil {
		fmt.Fprintf(b, "if %s != nil && %s.Size[1]*%[2]s.Size[2] == 1 {\n%s = %[1]s(%[4]s%[5]s, %[6]s, int(%[2]s.Size[0]))\n}\n", v.Hook, ph.block, r.round, args, end, each)
	}
	fmt.Fprintf(b, "for ; %s < %s; %[1]s += %[3]s {\n%s := %[2]s - %[1]s\n", r.round, end, each, r.remaining)
	if !ph.writePhase(b, p.inside[0]) {
		return false
	}
	b.WriteString("}\n} else {\n")
	if !ph.writePhase(b, p.inside[1]) {
		return false
	}
	b.WriteString("}\n}\n")
	return true
}

// end returns the text of the number of threads of a row that a phase runs. It is less than the size of a block if the phase is one if
// statement whose condition is a bound of the thread's place, or several. If only is not nil, it is that statement, and its condition is true for
// exactly these threads.
func (ph *phaseWriter) end(p *phase) (text string, only *ast.IfStmt, ok bool) {
	end := fmt.Sprintf("int(%s.Size[0])", ph.block)
	if p.rounds != nil {
		return fmt.Sprintf("min(%s, %s)", end, p.rounds.remaining), nil, true
	}
	s, ok := p.stmts[0].(*ast.IfStmt)
	if len(p.stmts) != 1 || !ok || s.Else != nil || s.Init != nil {
		return end, nil, true
	}
	var limits []string
	quiet := true
	only = s
	for _, term := range terms(s.Cond, token.LAND) {
		if !quiet {
			only = nil
			break // threads that a later term keeps out evaluate the terms before it
		}
		quiet = ph.quiet(term)
		text, exact, ok := ph.bound(term)
		if !ok {
			return "", nil, false
		}
		if !exact {
			only = nil
		}
		if text != "" {
			limits = append(limits, text)
		}
	}
	if limits == nil {
		return end, nil, true
	}
	return fmt.Sprintf("min(%s%s)", end, strings.Join(limits, "")), only, true
}

// bound returns the text of the bound that a term of a condition sets to the thread's place, or "". It is exact if the term says no more than that.
func (ph *phaseWriter) bound(term ast.Expr) (text string, exact, ok bool) {
	c, isComparison := term.(*ast.BinaryExpr)
	if !isComparison {
		return "", false, true
	}
	place, most := c.X, c.Y
	switch c.Op {
	case token.LSS, token.LEQ, token.EQL:
	case token.GTR, token.GEQ:
		place, most = c.Y, c.X
	default:
		return "", false, true
	}
	if c.Op == token.EQL && ph.slope(place) == 0 {
		place, most = most, place
	}
	first := ph.placed(place)
	if first == "" || ph.slope(most) != 0 {
		return "", false, true
	}
	if text, ok = ph.values([]ast.Expr{most}); !ok {
		return "", false, false
	}
	if c.Op != token.LSS && c.Op != token.GTR {
		text = fmt.Sprintf("min(%s, %s)+1", text, far)
	}
	return fmt.Sprintf(", max((%s)%s, 0)", text, first), c.Op != token.EQL && (first == here || ph.notNegative(most)), true
}

// notNegative reports whether a bound is a length, or a constant that is not negative: the difference to a place does not wrap around.
func (ph *phaseWriter) notNegative(e ast.Expr) bool {
	if c := ph.p.Info.Types[e].Value; c != nil {
		return constant.Sign(c) >= 0
	}
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return false
	}
	id, ok := ast.Unparen(call.Fun).(*ast.Ident)
	return ok && ph.p.Info.ObjectOf(id) == types.Universe.Lookup("len")
}

// move is a phase in which each thread copies an element, and neighbours copy neighbours: to shared memory, or from it.
type move struct{ dst, to, src, from string }

// moved returns the move that statements are, or nil.
func (ph *phaseWriter) moved(list []ast.Stmt) (m *move, ok bool) {
	if len(list) != 1 {
		return nil, true
	}
	a, isAssign := list[0].(*ast.AssignStmt)
	if !isAssign || a.Tok != token.ASSIGN || len(a.Lhs) != 1 || len(a.Rhs) != 1 {
		return nil, true
	}
	dst, ok1 := ast.Unparen(a.Lhs[0]).(*ast.IndexExpr)
	src, ok2 := ast.Unparen(a.Rhs[0]).(*ast.IndexExpr)
	if !ok1 || !ok2 || !ph.indexable(dst.X) || !ph.indexable(src.X) || !types.Identical(ph.p.Info.TypeOf(dst), ph.p.Info.TypeOf(src)) ||
		ph.slope(dst.Index) != 1 || ph.slope(src.Index) != 1 {
		return nil, true
	}
	to, from := ph.p.Info.ObjectOf(ast.Unparen(dst.X).(*ast.Ident)), ph.p.Info.ObjectOf(ast.Unparen(src.X).(*ast.Ident))
	shared := [2]bool{slices.Contains(ph.shared, to), slices.Contains(ph.shared, from)}
	if to == from || !shared[0] && !shared[1] {
		return nil, true // they may share memory, and a copy would read before it writes
	}
	m = &move{dst: to.Name(), src: from.Name()}
	if shared[0] {
		m.dst += "[:]"
	}
	if shared[1] {
		m.src += "[:]"
	}
	if m.to, ok = ph.values([]ast.Expr{dst.Index}); !ok {
		return nil, false
	}
	m.from, ok = ph.values([]ast.Expr{src.Index})
	return m, ok
}

// here is what placed returns for the thread's place in its block.
const here = " - 0"

// placed returns what to subtract from a bound of an expression to get that of the thread's place in its block, " - 0" if the expression is
// that place, and "" if it is not the thread's place in the grid either.
func (ph *phaseWriter) placed(e ast.Expr) string {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		if x := ph.again[ph.p.Info.ObjectOf(e)]; x != nil {
			return ph.placed(x)
		}
	case *ast.CallExpr:
		method, dim, ok := ph.threadCall(e)
		switch {
		case !ok || dim != 0:
		case method == "Local":
			return here
		case method == "Global":
			ph.global[0] = true
			return " - " + ph.first[0]
		}
	}
	return ""
}

// defined returns the variable that the left side of a definition declares, or nil.
func defined(info *types.Info, e ast.Expr) types.Object {
	id, _ := e.(*ast.Ident)
	return info.Defs[id]
}
