package translate

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"math"
	"slices"
	"strings"
)

// This file bounds the rounds of all loops of a thread together, for drivers that end the loops after some number of them. A round counts for the
// threads that run in step with the one that takes it, so the bound is one for every thread: that of each loop times what is around it. A kernel
// without such a bound, or whose launch may pass it, asks the driver at its end whether it still runs loops: see GO_LOOPED in kernel/prelude.

const (
	fewRounds = 1 << 15 // no driver ends loops that take fewer together
	halvings  = 64      // rounds of a loop that halves or doubles a whole number
)

// roundSum is a sum of products of a launch's numbers: the factors by the places of the arguments in a launch, as in "1 4". A place may be divided by what
// a loop steps by, as in "1/-5 4": see kernel.Written.Rounds.
type roundSum map[string]int64

// plus returns the sum.
func (r roundSum) plus(b roundSum) roundSum {
	sum := maps.Clone(r)
	for at, n := range b {
		sum[at] = min(sum[at]+n, mostSteps)
	}
	return sum
}

// by returns the product.
func (r roundSum) by(b roundSum) roundSum {
	product := roundSum{}
	for x, n := range r {
		for y, m := range b {
			at := strings.Fields(x + " " + y)
			slices.Sort(at)
			key := strings.Join(at, " ")
			product[key] = min(product[key]+min(n*m, mostSteps), mostSteps)
		}
	}
	return product
}

// literal returns the elements of kernel.Written.Rounds.
func (r roundSum) literal() string {
	var b strings.Builder
	for _, at := range slices.SortedFunc(maps.Keys(r), func(x, y string) int { return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)) }) {
		if r[at] > 0 || at != "" {
			fmt.Fprintf(&b, "{%s}, ", strings.Join(append([]string{fmt.Sprint(r[at])}, strings.Fields(strings.ReplaceAll(at, "/", " "))...), ", "))
		}
	}
	return b.String()
}

// looped is what is known of a kernel's loops.
type looped struct {
	most roundSum // nil if there are few or none
	from token.Pos
	at   token.Pos // of the loop that the most rounds are due to, as far as that is known
}

// noRoundsKnown is the bound of rounds that nothing is known of.
var noRoundsKnown = roundSum{"": math.MaxInt32}

// looped finds how many rounds the loops of a kernel take.
func (p *Package) looped(f *function) (l looped) {
	s := newStepCounter(p, f)
	s.known, s.counts, s.matrices, s.looped = map[types.Object]bound{}, map[types.Object]bool{}, map[types.Object]int{}, &l
	at := 0
	for _, m := range f.params {
		switch m.kind {
		case thread:
			continue
		case slice:
			at++
		case matrix:
			s.matrices[s.object(m)] = at
			at += 2
		}
		at++
	}
	s.survey()
	l.most = s.all(f.decl.Body)
	l.at = cmp.Or(l.at, l.from)
	if len(l.most) == 0 || len(l.most) == 1 && l.most[""] > 0 && l.most[""] < fewRounds {
		l.most = nil
	}
	return l
}

// all returns the rounds of the loops in a node.
func (s *stepCounter) all(n ast.Node) (total roundSum) {
	total = roundSum{}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt:
			total = total.plus(s.around(n, n.Body, func() bound { return s.few(n) }))
			return false
		case *ast.RangeStmt:
			total = total.plus(s.all(n.X)).plus(s.around(n, n.Body, func() bound { return s.each(n) }))
			return false
		case *ast.SwitchStmt, *ast.LabeledStmt: // a compiler may make a loop of one
			total = total.plus(roundSum{"": 1})
		case *ast.CallExpr:
			total = total.plus(s.inside(n))
		case *ast.BinaryExpr: // arrays are compared in a loop
			if t := s.p.info.TypeOf(n.X); t != nil && !generic(t) {
				if _, ok := t.Underlying().(*types.Array); ok {
					total = total.plus(roundSum{"": min(sizeOf(t)+1, mostSteps)})
				}
			}
		}
		return true
	})
	return total
}

// around returns the rounds of a loop with those of the loops in it. The end of a loop counts as a round.
func (s *stepCounter) around(loop ast.Stmt, body ast.Node, count func() bound) roundSum {
	if !s.looped.from.IsValid() {
		s.looped.from = loop.Pos()
	}
	n := roundSum{}
	s.begins, s.step = "", ""
	if unknown := s.unknown(func() {
		c := count()
		n[""] = c.plus
		for at, times := range c.times {
			n[fmt.Sprint(at)+s.step] = times
		}
		if s.begins != "" {
			n[s.begins] += 0 // it must not be negative
		}
	}); unknown {
		n = noRoundsKnown
	}
	if _, constant := n[""]; (len(n) > 1 || !constant || n[""] >= fewRounds) && !s.looped.at.IsValid() {
		s.looped.at = loop.Pos()
	}
	return n.by(s.all(body).plus(roundSum{"": 1})).plus(roundSum{"": 1})
}

// unknown reports whether fn finds no bound.
func (s *stepCounter) unknown(fn func()) (none bool) {
	defer func() {
		switch found := recover().(type) {
		case nil:
		case noBound:
			none = true
		default:
			panic(found)
		}
	}()
	fn()
	return false
}

// few returns the rounds of a loop with a condition, and notes what its variable is at most.
func (s *stepCounter) few(n *ast.ForStmt) bound {
	if n.Cond == nil || n.Post == nil {
		panic(noBound{})
	}
	if s.halves(n) {
		return bound{plus: halvings}
	}
	if n.Init == nil {
		panic(noBound{})
	}
	most := s.rounds(n)
	if post, ok := n.Post.(*ast.AssignStmt); ok && post.Tok == token.ADD_ASSIGN {
		s.step = s.stride(post.Rhs[0])
	}
	c := ast.Unparen(n.Cond).(*ast.BinaryExpr)
	init := n.Init.(*ast.AssignStmt)
	s.unknown(func() {
		if (c.Op == token.LSS || c.Op == token.LEQ) && s.from(init.Rhs[0], 0, 2) {
			v := defined(s.p.info, init.Lhs[0])
			s.known[v], s.counts[v] = s.most(c.Y), true
		}
	})
	return most
}

// stride returns what a loop steps by, if that is the threads of the grid in a dimension, or the length of a slice.
func (s *stepCounter) stride(e ast.Expr) string {
	if id, ok := ast.Unparen(e).(*ast.Ident); ok && s.values[s.p.info.ObjectOf(id)] != nil && !s.writes[s.p.info.ObjectOf(id)] {
		return s.stride(s.values[s.p.info.ObjectOf(id)])
	}
	step := ""
	s.unknown(func() {
		b := s.most(e)
		for at, times := range b.times {
			if len(b.times) == 1 && b.plus == 0 && times == 1 {
				step = fmt.Sprintf("/%d", -4-at)
			}
		}
	})
	b, ok := ast.Unparen(e).(*ast.BinaryExpr)
	if !ok || b.Op != token.MUL {
		return step
	}
	x, d := s.extent(b.X)
	y, d2 := s.extent(b.Y)
	if d == d2 && (x == "Size" && y == "Blocks" || x == "Blocks" && y == "Size") {
		step = fmt.Sprintf("/%d", -1-d)
	}
	return step
}

// distance returns how far a number is above another at most, if that follows from how they are made: t.Local(0)+8 and t.Local(0).
func (s *stepCounter) distance(from, to ast.Expr) (far int64, ok bool) {
	if c, isCall := ast.Unparen(to).(*ast.CallExpr); isCall {
		if id, isName := ast.Unparen(c.Fun).(*ast.Ident); isName && s.p.info.ObjectOf(id) == types.Universe.Lookup("min") {
			for _, arg := range c.Args {
				if far, ok = s.distance(from, arg); ok {
					return far, true
				}
			}
			return 0, false
		}
	}
	sum := map[string]int64{}
	if !s.linear(to, 1, sum) || !s.linear(from, -1, sum) {
		return 0, false
	}
	for of, n := range sum {
		if of != "" && (n > 0 || n < 0 && of[0] == '?') {
			return 0, false
		}
	}
	return max(sum[""], 0), true
}

// linear adds a number of times a number to a sum of constants and of what threads ask for, by its text. The text of what may be negative begins with a
// question mark.
func (s *stepCounter) linear(e ast.Expr, times int64, sum map[string]int64) bool {
	info := s.p.info
	if c := info.Types[e].Value; c != nil {
		n, exact := constant.Int64Val(constant.ToInt(c))
		sum[""] += times * n
		return exact && max(n, -n) <= largest
	}
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		v := info.ObjectOf(e)
		switch {
		case s.counts[v]:
			sum[fmt.Sprint(e.Name, v.Pos())] += times
		case v == nil || s.writes[v]:
			return false
		case s.values[v] != nil && s.linear(s.values[v], times, maps.Clone(sum)):
			return s.linear(s.values[v], times, sum)
		default:
			sum[fmt.Sprint("?", v.Pos())] += times
		}
		return true
	case *ast.CallExpr:
		name, d := s.extent(e)
		sum[fmt.Sprint(name, d)] += times
		return name != ""
	case *ast.BinaryExpr:
		switch by := info.Types[e.Y].Value; {
		case e.Op == token.ADD:
			return s.linear(e.X, times, sum) && s.linear(e.Y, times, sum)
		case e.Op == token.SUB && s.signed(e):
			return s.linear(e.X, times, sum) && s.linear(e.Y, -times, sum)
		case e.Op == token.MUL && by != nil:
			n, exact := constant.Int64Val(constant.ToInt(by))
			return exact && n >= 0 && n*max(times, -times) <= largest && s.linear(e.X, n*times, sum)
		}
	}
	return false
}

// extent returns the name and the argument of a method of a thread.
func (s *stepCounter) extent(e ast.Expr) (name string, d int64) {
	c, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok || len(c.Args) != 1 || s.p.info.Types[c.Args[0]].Value == nil {
		return "", 0
	}
	sel, ok := c.Fun.(*ast.SelectorExpr)
	if !ok || !gridType(s.p.info.TypeOf(sel.X), "Thread") {
		return "", 0
	}
	d, _ = constant.Int64Val(s.p.info.Types[c.Args[0]].Value)
	return sel.Sel.Name, d
}

// mostLocal is how many threads a block has at most on the devices whose drivers end loops.
const mostLocal = 1024

// also returns what a whole number is at most, for forms that [stepCounter.most] leaves out.
func (s *stepCounter) also(e ast.Expr) (most bound, ok bool) {
	c, isCall := ast.Unparen(e).(*ast.CallExpr)
	if !isCall {
		return most, false
	}
	if name, _ := s.extent(e); name == "Local" || name == "Size" {
		return bound{plus: mostLocal}, true
	}
	if id, isName := ast.Unparen(c.Fun).(*ast.Ident); isName && s.p.info.ObjectOf(id) == types.Universe.Lookup("min") {
		for _, arg := range c.Args {
			if !s.unknown(func() { most = s.most(arg) }) {
				return most, true
			}
		}
	}
	return most, false
}

// atLeast is [stepCounter.from] for more forms: a length counts as 1, because a loop that steps by 0 never ends.
func (s *stepCounter) atLeast(e ast.Expr, least int64) bool {
	info := s.p.info
	c, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		b, ok := ast.Unparen(e).(*ast.BinaryExpr)
		return ok && b.Op == token.QUO && least == 0 && s.from(b.X, 0, 2) && s.from(b.Y, 1, 2)
	}
	id, ok := ast.Unparen(c.Fun).(*ast.Ident)
	if !ok {
		return false
	}
	switch info.ObjectOf(id) {
	case types.Universe.Lookup("len"):
		return true
	case types.Universe.Lookup("min"):
		return !slices.ContainsFunc(c.Args, func(e ast.Expr) bool { return !s.from(e, least, 3) })
	case types.Universe.Lookup("max"):
		return slices.ContainsFunc(c.Args, func(e ast.Expr) bool { return s.from(e, least, 3) })
	}
	return false
}

// each returns the rounds of a range, and notes what its key is at most.
func (s *stepCounter) each(n *ast.RangeStmt) (most bound) {
	t := s.p.info.TypeOf(n.X).Underlying()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem().Underlying()
	}
	switch t := t.(type) {
	case *types.Array:
		most = bound{plus: min(t.Len(), mostSteps)}
	case *types.Slice:
		most = s.argument(n.X)
	case *types.Basic:
		most = s.most(n.X)
	default:
		panic(noBound{})
	}
	if v := s.key(n); v != nil {
		s.known[v], s.counts[v] = most, true
	}
	return most
}

// key returns the variable of a range that counts its rounds, if nothing else changes it.
func (s *stepCounter) key(n *ast.RangeStmt) types.Object {
	v := defined(s.p.info, n.Key)
	if v == nil {
		return nil
	}
	s.changes(n.Body, func(o types.Object) {
		if o == v {
			v = nil
		}
	})
	return v
}

// halves reports whether a loop divides or multiplies a whole number in each round until it is small or large.
func (s *stepCounter) halves(n *ast.ForStmt) bool {
	post, ok := n.Post.(*ast.AssignStmt)
	c, ok2 := ast.Unparen(n.Cond).(*ast.BinaryExpr)
	if !ok || !ok2 {
		return false
	}
	info := s.p.info
	by := info.Types[post.Rhs[0]].Value
	x, isName := post.Lhs[0].(*ast.Ident)
	y, same := ast.Unparen(c.X).(*ast.Ident)
	if by == nil || !isName || !same || info.ObjectOf(x) != info.ObjectOf(y) || !isInteger(info.TypeOf(x)) {
		return false
	}
	v := info.ObjectOf(x)
	s.changes(n.Body, func(o types.Object) { ok = ok && o != v })
	least := int64(2)
	if post.Tok == token.SHR_ASSIGN || post.Tok == token.SHL_ASSIGN {
		least = 1
	}
	ok = ok && constant.Compare(constant.ToInt(by), token.GEQ, constant.MakeInt64(least))
	switch post.Tok {
	case token.QUO_ASSIGN, token.SHR_ASSIGN: // a negative number that is shifted stays negative
		end := info.Types[c.Y].Value
		return ok && end != nil && (c.Op == token.GTR && constant.Sign(end) >= 0 || c.Op == token.GEQ && constant.Sign(end) > 0)
	case token.MUL_ASSIGN, token.SHL_ASSIGN: // one that wraps around may be small again: only constants below the largest are taken
		init, isInit := n.Init.(*ast.AssignStmt)
		return ok && isInit && len(init.Rhs) == 1 && s.from(init.Rhs[0], 1, 1) && (c.Op == token.LSS || c.Op == token.LEQ) && info.Types[c.Y].Value == nil &&
			!s.unknown(func() { s.most(c.Y) })
	}
	return false
}

// inside returns the rounds of the function that is called.
func (s *stepCounter) inside(e *ast.CallExpr) roundSum {
	info := s.p.info
	id, _ := callee(ast.Unparen(e.Fun))
	f, ok := info.Uses[id].(*types.Func)
	if !ok || f.Pkg() == nil || info.Types[e.Fun].IsType() {
		return roundSum{}
	}
	if f.Pkg().Path() == gridPath {
		if p, ok := info.TypeOf(e).(*types.Pointer); ok && f.Name() == "Shared" && !generic(p.Elem()) {
			return roundSum{"": min(sizeOf(p.Elem()), mostSteps)} // which are set to zero
		}
		return roundSum{}
	}
	switch f.Pkg().Path() {
	case "math", "math/bits", "math/cmplx":
		if slices.Contains(plainMath, f.Name()) {
			return roundSum{}
		}
		return roundSum{"": cmp.Or(mathRounds[f.Name()], 16)}
	}
	pkg, decl := s.p.source(f)
	if decl == nil || decl.Body == nil || s.calls > 16 {
		return noRoundsKnown
	}
	inner := &stepCounter{p: pkg, kernel: decl, calls: s.calls + 1, values: map[types.Object]ast.Expr{}, writes: map[types.Object]bool{},
		known: map[types.Object]bound{}, counts: map[types.Object]bool{}, matrices: map[types.Object]int{}, looped: &looped{}}
	inner.survey()
	at := 0
	for _, field := range decl.Type.Params.List {
		for _, name := range field.Names {
			v := pkg.info.Defs[name]
			if at < len(e.Args) && v != nil && !inner.writes[v] {
				s.passes(inner, v, e.Args[at])
			}
			at++
		}
	}
	total := inner.all(decl.Body)
	if inner.looped.from.IsValid() && !s.looped.from.IsValid() {
		s.looped.from = e.Pos()
	}
	if inner.looped.at.IsValid() && !s.looped.at.IsValid() {
		s.looped.at = inner.looped.at
	}
	return total.plus(roundSum{"": 1})
}

// mathRounds are the rounds of functions of package math that take many.
var mathRounds = map[string]int64{"Mod": 2200, "Remainder": 2200, "Erf": 600, "Erfc": 600,
	"OnesCount": halvings, "OnesCount8": halvings, "OnesCount16": halvings, "OnesCount32": halvings, "OnesCount64": halvings,
	"Reverse": halvings, "Reverse8": halvings, "Reverse16": halvings, "Reverse32": halvings, "Reverse64": halvings}

// source returns the package and the text of a function, which may be of another package; nil if that is not known.
func (p *Package) source(f *types.Func) (*Package, *ast.FuncDecl) {
	pkg, there := (&program{own: p, pkg: p}).home(f.Origin())
	if pkg == nil {
		return nil, nil
	}
	return pkg, pkg.declOf(there.Origin())
}

// passes notes what a parameter of a function that is called is at most.
func (s *stepCounter) passes(inner *stepCounter, v types.Object, arg ast.Expr) {
	s.unknown(func() {
		switch v.Type().Underlying().(type) {
		case *types.Slice:
			inner.known[v] = s.argument(arg)
		case *types.Basic:
			if isInteger(v.Type()) && s.natural(arg) {
				inner.known[v] = s.most(arg)
			}
		}
	})
}
