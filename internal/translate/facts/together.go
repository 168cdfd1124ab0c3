package facts

import (
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/ir"
)

// This file finds phases for which the loop over a block's threads can be shorter, or can use memory more evenly:
//
//   - A phase that is one if statement, whose condition is a bound of the thread's place.
//   - A phase in which each thread copies one element, and neighbours copy neighbours.
//   - A loop such as "for i := t.Global(0); i < len(a); i += t.Size(0) * t.Blocks(0) { sum += a[i] }". A thread alone would take elements that are far apart, and
//     the next thread the elements beside them. So all threads of a block take one round together, and then the next one. Nobody could tell the difference: such
//     a loop stores nothing in memory, cannot panic, and runs to its end.

// Together is a loop whose rounds the threads can take together. Its counter is the thread's place in its block plus a number that all threads have.
type Together struct {
	From, End *ir.Value
	By        *ir.Value // nil if Fixed is the step
	Fixed     int64
	Loads     []RoundLoad
}

// RoundLoad is a load of an element. The index is the sum of the loop's counter and of the terms if Counts is set, and the one term if not.
type RoundLoad struct {
	Of     *ir.Place
	Terms  []Term
	Counts bool
}

// Term is a number that all threads have, and that is added or subtracted.
type Term struct {
	Value *ir.Value
	Minus bool
}

// uniform reports whether a value is the same for all threads wherever it is computed, and so is its Go text.
func (d *divider) uniform(v *ir.Value) bool { return d.needs(v) == 0 && d.said(v) == 0 }

// said returns the needs of the variables that the Go text of a value names.
func (d *divider) said(v *ir.Value) need {
	switch {
	case v.Bound && d.named[v] != nil:
		return d.needs(v)
	case v.Bound || v.Syntax == nil:
		return own
	}
	return d.names(v.Syntax)
}

// slope returns by how much an int grows from a thread to the next one along the first dimension: 0 or 1, or -1 if that is not known.
func (d *divider) slope(v *ir.Value) int {
	switch {
	case v.Type.Kind != ir.Int:
		return -1
	case d.needs(v) == 0:
		return 0
	case (v.Op == ir.InGrid || v.Op == ir.InBlock) && v.Which[0] == 0:
		return 1
	case v.Op != ir.Add && v.Op != ir.Sub:
		return -1
	}
	x, y := d.slope(v.Args[0]), d.slope(v.Args[1])
	sum := x + y
	if v.Op == ir.Sub {
		sum = x - y
	}
	if x < 0 || y < 0 || sum > 1 {
		return -1
	}
	return max(sum, -1)
}

// rounds returns how threads can take the rounds of a loop together, or nil if they cannot. The loop is the last one of the statements.
func (d *divider) rounds(g []*ir.Stmt) *Together {
	s := g[len(g)-1]
	if s.Do != ir.Loop || s.Label != "" || !d.together || d.alone[s.Pos] {
		return nil
	}
	c, ok := countingOf(s, g[0])
	r := &roundReader{divider: d, of: c.of, loop: &Together{From: c.from, End: c.end, By: c.by, Fixed: c.fixed}}
	ok = ok && len(g) <= 2 && (len(g) == 1) == (s.Count != nil) && c.from != nil && c.op == ir.Add && c.compares == ir.Lt && c.t.Kind == ir.Int && d.slope(c.from) == 1 &&
		d.said(c.from)&own == 0 && d.uniform(c.end)
	if !ok || c.by != nil && !d.uniform(c.by) || c.by == nil && c.fixed <= 0 || !r.region(s.Then) || len(r.loop.Loads) == 0 {
		d.alone[s.Pos] = true
		return nil
	}
	return r.loop
}

// roundReader checks the statements of a loop, and notes its loads.
type roundReader struct {
	*divider
	of   any // the counter of the loop, a value or a local
	loop *Together
}

// region reports whether statements only assign to the thread's own variables, and cannot panic if the indexes of their loads are within their slices.
func (r *roundReader) region(list *ir.Region) bool {
	if list == nil {
		return true
	}
	return !slices.ContainsFunc(list.List, func(s *ir.Stmt) bool {
		switch s.Do {
		case ir.Let:
			return !r.inside(s.Value)
		case ir.Store:
			l := Stored(s)
			return l == nil || l.Space != ir.Private || !r.harmless(s.Value)
		case ir.If:
			return !r.harmless(s.Value) || !r.region(s.Then) || !r.region(s.Else)
		}
		return true
	})
}

// harmless reports whether evaluating a value cannot panic and changes nothing, if the loads that it notes are within their slices.
func (r *roundReader) harmless(v *ir.Value) bool { return v.Bound || r.inside(v) }

func (r *roundReader) inside(v *ir.Value) bool {
	number := v.Type != nil && v.Type.Kind <= ir.F64
	switch {
	case v.Op == ir.Load:
		return number && r.load(v.Place)
	case v.Op == ir.Div || v.Op == ir.Rem || v.Op == ir.Shl || v.Op == ir.Shr:
		number = number && (v.Type.Float() || positive(v.Args[1]))
	case v.Op == ir.Go:
		number = number && strings.HasPrefix(v.Of, "math.")
	case v.Op == ir.Within || v.Op == ir.UpTo || v.Op > ir.Either:
		return false
	}
	return number && !slices.ContainsFunc(v.Args, func(a *ir.Value) bool { return !r.harmless(a) })
}

// load notes a load, and reports whether it is of a variable, or of an element whose index has the right form.
func (r *roundReader) load(p *ir.Place) bool {
	if p.Local != nil && p.Local.Space == ir.Private {
		return len(p.Path) == 0
	}
	if !indexable(p) {
		return false
	}
	l := RoundLoad{Of: p}
	if !r.sum(p.Path[0].Index, false, &l) || !l.Counts && len(l.Terms) > 1 {
		return false
	}
	r.loop.Loads = append(r.loop.Loads, l)
	return true
}

// sum notes the terms of an index, and reports whether it has the right form. The loop's counter may be among them once, and not be subtracted.
func (r *roundReader) sum(v *ir.Value, minus bool, l *RoundLoad) bool {
	switch {
	case r.uniform(v):
		l.Terms = append(l.Terms, Term{v, minus})
		return true
	case v.Type.Kind != ir.Int || v.Bound && v.Op != ir.Counter:
		return false
	case counted(v) == r.of:
		twice := l.Counts
		l.Counts = true
		return !minus && !twice
	}
	return (v.Op == ir.Add || v.Op == ir.Sub) && r.sum(v.Args[0], minus, l) && r.sum(v.Args[1], minus != (v.Op == ir.Sub), l)
}

// indexable reports whether a place is an element of a slice that is a parameter, or of a shared array, and is a number.
func indexable(p *ir.Place) bool {
	return len(p.Path) == 1 && p.Path[0].Index != nil && p.Path[0].Col == nil && p.Type.Kind <= ir.F64 && p.Space() != ir.Private && p.Space() != ir.Constant
}

// Limit is a bound that a condition sets to the thread's place along the first dimension.
type Limit struct {
	Grid bool // it is about the place in the grid, not about that in the block
	Most *ir.Value
	Next bool // the place may also be equal to Most
}

// Limits returns the bounds that a phase sets to the places of the threads that do something in it. If only is not nil, the phase is this if statement alone,
// and its condition is true for exactly these threads.
func (d *Division) Limits(p *Phase) (limits []Limit, only *ir.Stmt) {
	if len(groups(p.List)) != 1 {
		return nil, nil
	}
	before := len(p.List) - 1
	s := p.List[before]
	if s.Do != ir.If || s.Else != nil {
		return nil, nil
	}
	terms, all := d.terms(p.List[:before], s.Value)
	for _, term := range terms {
		l, exact := d.limit(term)
		if all = all && exact; l.Most != nil {
			limits = append(limits, l)
		}
		if !d.quiet(term) { // threads that a later term keeps out evaluate the terms before it
			all = false
			break
		}
	}
	if all && limits != nil {
		only = s
	}
	return limits, only
}

// terms splits a condition at its && and returns the parts, from the first on, and whether these are all parts. The list has the statements that compute the
// condition: x && f(y) has some, because f is not always called.
func (d *Division) terms(list []*ir.Stmt, cond *ir.Value) (terms []*ir.Value, all bool) {
	if l := Loaded(cond); l != nil && d.locals[l] == nil {
		for i, s := range list {
			if Stored(s) == l && i+1 < len(list) && list[i+1].Do == ir.If && Loaded(list[i+1].Value) == l {
				terms, _ = d.terms(list[:i], s.Value)
				return terms, false
			}
		}
	}
	if len(list) > 0 {
		return nil, false
	}
	return conjunction(cond), true
}

func conjunction(v *ir.Value) []*ir.Value {
	if v.Op == ir.Both && !v.Bound {
		return append(conjunction(v.Args[0]), conjunction(v.Args[1])...)
	}
	return []*ir.Value{v}
}

// quiet reports whether evaluating a value cannot panic and changes nothing.
func (d *Division) quiet(v *ir.Value) bool {
	r := &roundReader{divider: &d.divider, loop: &Together{}}
	return d.needs(v)&^place == 0 || r.harmless(v) && len(r.loop.Loads) == 0
}

// limit returns the bound that a term of a condition sets. It is exact if the term says no more than that.
func (d *Division) limit(term *ir.Value) (l Limit, exact bool) {
	if term.Op < ir.Eq || term.Op > ir.Ge || term.Op == ir.Ne {
		return l, false
	}
	at, most, op := term.Args[0], term.Args[1], term.Op
	if op == ir.Gt || op == ir.Ge || op == ir.Eq && d.slope(at) == 0 {
		at, most, op = most, at, Mirrored(op)
	}
	if at.Op != ir.InBlock && at.Op != ir.InGrid || at.Which[0] != 0 || d.slope(most) != 0 || !d.uniform(most) {
		return l, false
	}
	n, constant := Constant(most)
	natural := most.Op == ir.Len || constant && n >= 0 // then the difference to a place does not wrap around
	return Limit{Grid: at.Op == ir.InGrid, Most: most, Next: op != ir.Lt}, op != ir.Eq && (at.Op == ir.InBlock || natural)
}

// Moves returns the places between which the threads copy, if the statements copy one element for each thread, and neighbours copy neighbours: to shared memory
// or from it. Otherwise it returns nil.
func (d *Division) Moves(list []*ir.Stmt) (to, from *ir.Place) {
	if len(list) != 1 || list[0].Do != ir.Store || list[0].Value.Op != ir.Load || list[0].Value.Bound {
		return nil, nil
	}
	to, from = list[0].Place, list[0].Value.Place
	if !indexable(to) || !indexable(from) || to.Local == from.Local && to.Param == from.Param || to.Local == nil && from.Local == nil { // they may share memory
		return nil, nil
	}
	for _, p := range []*ir.Place{to, from} {
		if i := p.Path[0].Index; d.slope(i) != 1 || d.said(i)&own != 0 {
			return nil, nil
		}
	}
	return to, from
}
