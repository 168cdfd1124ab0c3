package facts

import (
	"fmt"
	"go/token"
	"math"
	"path/filepath"
	"slices"

	"github.com/go-halyard/halyard/internal/translate/ir"
)

// ReachOf follows a kernel. The map effects has the effects of the kernel and of all functions that it calls.
func ReachOf(p *ir.Program, f *ir.Function, effects map[*ir.Function]*Effects) *Reach {
	r := &Reach{Kernel: f, Effects: effects[f], places: map[string]*Atom{}}
	w := &walk{Reach: r, effects: effects, position: p.Position}
	w.frame = newFrame(f)
	for _, m := range f.Params {
		wire := r.Wire(m)
		switch m.Type.Kind {
		case ir.Slice:
			w.frame.params[m.Index].of = m
			r.argument(wire+1, "len("+m.Name+")", true)
		case ir.Matrix:
			w.frame.params[m.Index].of = m
			r.argument(wire+1, m.Name+".Rows()", true)
			r.argument(wire+2, m.Name+".Cols()", true)
		default:
			if t, ok := numbered(m.Type); ok {
				w.frame.params[m.Index].n = r.argument(wire, m.Name, t.Least == 0)
			}
		}
	}
	w.region(f.Body)
	return r
}

// region walks through the statements of a region, and reports whether one of them leaves the region.
func (w *walk) region(r *ir.Region) (ended bool) {
	if r == nil {
		return false
	}
	var merges []early
	for i, s := range r.List {
		if ended { // the rest is never run
			break
		}
		if s.Do != ir.If {
			ended = w.statement(s, r.List[:i])
			continue
		}
		var m early
		if m, ended = w.branch(s); m.to > m.from {
			merges = append(merges, m)
		}
	}
	for _, m := range slices.Backward(merges) {
		w.merge(m, m.to, len(w.Accesses))
	}
	return ended
}

// early describes the first branch of an if: its accesses, which are Accesses[from:to], and what was known before the if.
type early struct {
	from, to int
	known    []Known
	path     []Step
	id       int
}

// merge looks for elements that are written in both branches of an if. The accesses that m describes are those of the first branch, and Accesses[c:d] are those
// of the second. If both branches write an element, every thread writes that element, and merge adds a write without the condition.
func (w *walk) merge(m early, c, d int) {
	on := func(p []Step, yes bool) bool {
		return len(p) == len(m.path)+1 && slices.Equal(p[:len(m.path)], m.path) && p[len(m.path)].ID == m.id && p[len(m.path)].Yes == yes
	}
	for _, x := range w.Accesses[m.from:m.to] {
		if !x.Write || x.Part || !on(x.Path, true) {
			continue
		}
		for _, y := range w.Accesses[c:d] {
			if y.Write && !y.Part && y.Of == x.Of && y.Index.Equal(x.Index) && on(y.Path, false) {
				x.Known, x.Path, x.Merged = m.known, m.path, true
				w.Accesses = append(w.Accesses, x)
				break
			}
		}
	}
}

// branch follows an if. If one branch of the if leaves the region, the statements behind the if run only after the other branch. If the first branch leaves the
// region and the if has no else, the result left has the accesses of that branch: the statements behind the if are like an else, and the function region merges
// the two.
func (w *walk) branch(s *ir.Stmt) (left early, ended bool) {
	c := w.condition(s.Value)
	w.steps++
	m := early{from: len(w.Accesses), known: w.known, path: w.path, id: w.steps}
	locals := slices.Clone(w.frame.locals)
	w.assume(c, true, m.id)
	thenEnds := w.region(s.Then)
	m.to = len(w.Accesses)
	then := state{w.frame.locals, w.known, w.path}
	w.frame.locals, w.known, w.path = locals, m.known, m.path
	w.assume(c, false, m.id)
	elseEnds := w.region(s.Else)
	switch end := len(w.Accesses); {
	case thenEnds && elseEnds:
		w.merge(m, m.to, end)
		return left, true
	case thenEnds && s.Else == nil:
		return m, false
	case thenEnds || elseEnds:
		if elseEnds {
			w.frame.locals, w.known, w.path = then.locals, then.known, then.path
		}
		w.maybe()
	default:
		w.join(then, c)
		w.known, w.path = m.known, m.path
		if ExitOf(s).Beyond {
			w.maybe()
		}
		w.merge(m, m.to, end)
	}
	return left, false
}

// state is what is known at the end of a branch.
type state struct {
	locals []val
	known  []Known
	path   []Step
}

// maybe notes that some threads may not come to this point.
func (w *walk) maybe() {
	w.steps++
	w.path = append(slices.Clip(w.path), Step{ID: w.steps})
}

// join sets the locals to what is known after both branches of an if. The parameter then is the state after the branch where c holds, and the current locals
// are those after the other branch.
func (w *walk) join(then state, c *condition) {
	for i, l := range w.frame.f.Locals {
		a, b := &w.frame.locals[i], then.locals[i]
		switch {
		case !a.set || !b.set:
			*a = val{}
		case a.cond != b.cond:
			*a = val{set: true, cond: either(a.cond, b.cond, c)}
		case a.n != nil && b.n != nil && !a.n.Equal(b.n):
			t, _ := numbered(l.Type)
			or := w.atom(Atom{Kind: IsResult, Op: "Or", Args: []Sum{a.n, b.n}, Where: [][]Known{w.known, then.known}, Low: t.Least == 0, Name: l.Name})
			*a = val{set: true, n: or.Sum()}
		case (a.n == nil) != (b.n == nil):
			*a = val{set: true}
		}
	}
}

// either returns the bool that is b where c holds and a where c does not hold. It returns nil if it does not know a condition for that bool.
func either(a, b, c *condition) *condition {
	switch {
	case b == nil || a == nil:
		return nil
	case a == c: // a is false where c does not hold
		return &condition{op: ir.Both, a: c, b: b}
	case c.op == ir.Not && c.a == a: // a is true where c does not hold
		return &condition{op: ir.Either, a: a, b: b}
	}
	return nil
}

// forget makes the locals that a region stores to unknown.
func (w *walk) forget(r *ir.Region) {
	r.Visit(func(s *ir.Stmt) {
		if l := Stored(s); l != nil {
			if at := &w.frame.locals[l.Index]; at.set {
				*at = w.unknown(l.Type)
				at.set = true
			}
		}
	}, nil)
}

// statement follows a statement that is not an if, and reports whether it leaves the region. The parameter before has the region's statements in front of it.
func (w *walk) statement(s *ir.Stmt, before []*ir.Stmt) bool {
	switch s.Do {
	case ir.Let:
		w.bind(s.Value, w.compute(s.Value))
	case ir.Store:
		w.store(s)
	case ir.Loop:
		if s.Count != nil {
			w.count(s)
		} else {
			w.loop(s)
		}
	case ir.Switch:
		w.choice(s)
	case ir.Return:
		var all []val
		for _, v := range s.Values {
			all = append(all, w.eval(v))
		}
		w.frame.returns = append(w.frame.returns, returned{all, w.known})
		return true
	case ir.Break, ir.Continue:
		return true
	}
	return false
}

// store follows a store. A store x = x op y is a single access that reads and writes.
func (w *walk) store(s *ir.Stmt) {
	v, a := s.Value, Access{Write: true}
	if !v.Bound && v.Pos == s.Pos && len(v.Args) == 2 && v.Args[0].Op == ir.Load && s.Place.Local == nil && SamePlace(v.Args[0].Place, s.Place, changing) {
		w.eval(v.Args[1])
		a.Read = true
		w.place(s.Place, a, s.Pos)
		return
	}
	is := w.eval(v)
	w.place(s.Place, a, s.Pos)
	if l := Stored(s); l != nil {
		name := l.Name
		if s.Syntax == w.frame.f.Syntax { // a parameter that changes
			name = ""
		}
		if w.frame.pointed[l] {
			is = val{}
		}
		is = w.named(is, l.Type, name)
		is.set = true
		w.frame.locals[l.Index] = is
	}
}

// count follows a loop that counts.
func (w *walk) count(s *ir.Stmt) {
	c, known, path := s.Count, w.known, w.path
	from := w.named(w.eval(c.From), c.Index.Type, c.Index.Name).n
	end := w.eval(c.End).n
	op, by := ir.Add, c.By
	if by < 0 {
		op, by = ir.Sub, -by
	}
	a, every := w.round(c.Index.Type, from, op, Fixed(by), c.Op, end)
	w.forget(s.Then)
	if a != nil {
		a.Name = c.Index.Name
		w.bind(c.Index, val{n: w.atom(*a).Sum()})
	} else {
		w.bind(c.Index, w.unknown(c.Index.Type))
	}
	w.steps++
	id := w.steps
	if !implicit(c.From, s) { // as in Go, which evaluates the end in each round
		end = w.eval(c.End).n
	}
	cond := &condition{}
	if i := w.eval(c.Index).n; i != nil && end != nil {
		cond = &condition{op: c.Op, x: i, y: end}
	}
	w.assume(cond, true, id)
	w.rounds(s, every)
	w.after(s, known, path)
}

// rounds follows the body of a loop. The parameter every says that the counter takes each number from the first to the end.
func (w *walk) rounds(s *ir.Stmt, every bool) {
	last := &w.path[len(w.path)-1]
	last.Exact = last.Exact && every && ExitOf(s) == Exit{}
	w.region(s.Then)
	w.region(s.Step)
}

// after updates what is known behind a loop. The parameters known and path are those from before the loop.
func (w *walk) after(s *ir.Stmt, known []Known, path []Step) {
	w.forget(s.Then)
	w.forget(s.Step)
	w.known, w.path = known, path
	if ExitOf(s).Beyond {
		w.maybe()
	}
}

// loop follows a loop with a condition.
func (w *walk) loop(s *ir.Stmt) {
	known, path := w.known, w.path
	counter, a, every := w.counter(s)
	w.forget(s.Head)
	w.forget(s.Then)
	w.forget(s.Step)
	if a != nil {
		a.Name = counter.Name
		w.frame.locals[counter.Index] = val{n: w.atom(*a).Sum(), set: true}
	}
	w.steps++
	id := w.steps
	w.region(s.Head)
	if s.Value != nil {
		w.assume(w.condition(s.Value), true, id)
	} else {
		w.maybe()
	}
	w.rounds(s, every)
	w.after(s, known, path)
}

// counter returns the local that counts a loop's rounds, the atom for it, and whether it takes each number from the first to the end. Only the step may change
// the local. The condition must compare the local with a number that does not change in the loop. See round for the steps that count.
func (w *walk) counter(s *ir.Stmt) (*ir.Local, *Atom, bool) {
	l, v := Stepped(s)
	if l == nil || s.Value == nil || w.frame.pointed[l] || w.frame.locals[l.Index].n == nil || w.varies(v.Args[1], s) {
		return nil, nil, false
	}
	by := w.steady(v.Args[1])
	op, y := compared(s.Value, l)
	if by == nil || y == nil || w.varies(y, s) {
		return nil, nil, false
	}
	a, every := w.round(l.Type, w.frame.locals[l.Index].n, v.Op, by, op, w.steady(y))
	return l, a, every
}

// steady evaluates a number without adding accesses.
func (w *walk) steady(v *ir.Value) Sum {
	seen := len(w.Accesses)
	n := w.eval(v).n
	w.Accesses = w.Accesses[:seen]
	if n == nil && v.Op == ir.Const { // a shift count is unsigned
		if u, ok := v.Const.(uint64); ok {
			return Fixed(int64(min(u, 64)))
		}
	}
	return n
}

// compared finds the comparison of a local with a number in a condition. It returns the operation and the number. In x && y, compared looks at both operands.
func compared(c *ir.Value, l *ir.Local) (ir.Op, *ir.Value) {
	switch {
	case c.Op == ir.Both:
		if op, y := compared(c.Args[0], l); y != nil {
			return op, y
		}
		return compared(c.Args[1], l)
	case !c.Op.Compares():
	case Loaded(c.Args[1]) == l:
		return Mirrored(c.Op), c.Args[0]
	case Loaded(c.Args[0]) == l:
		return c.Op, c.Args[1]
	}
	return ir.Const, nil
}

// varies reports whether a value may change in the rounds of a loop.
func (w *walk) varies(v *ir.Value, s *ir.Stmt) (changes bool) {
	inside, stored := map[*ir.Value]bool{}, map[*ir.Local]bool{}
	for _, r := range s.Regions() {
		r.Visit(func(x *ir.Stmt) {
			switch {
			case x.Do == ir.Let:
				inside[x.Value] = true
			case x.Count != nil:
				inside[x.Count.Index] = true
			case x.Do == ir.Store && x.Place.Local != nil:
				stored[x.Place.Local] = true
			}
		}, nil)
	}
	var visit func(v *ir.Value)
	visit = func(v *ir.Value) {
		changes = changes || inside[v] || v.Place != nil && (v.Place.Local == nil || stored[v.Place.Local] || len(v.Place.Path) > 0 || w.frame.pointed[v.Place.Local])
		if !v.Bound {
			for _, a := range v.Operands() {
				visit(a)
			}
		}
	}
	visit(v)
	return changes
}

// round returns the atom of a loop's counter, and whether the counter takes each number from the first to the end. The atom is nil if the counter's numbers are
// not known.
func (w *walk) round(t *ir.Type, from Sum, op ir.Op, by Sum, compares ir.Op, end Sum) (*Atom, bool) {
	all, ok := numbered(t)
	if from == nil || end == nil || !ok {
		return nil, false
	}
	a := &Atom{Kind: IsRound, From: from, Step: by}
	n, constant := by.Constant()
	floor, floored := end.Constant()
	switch {
	case op == ir.Add && (compares == ir.Lt || compares == ir.Le) && (all.Most == math.MaxInt64 || compares == ir.Lt && constant && n == 1):
		if a.End = end; compares == ir.Le {
			a.End = end.Plus(Fixed(1), 1)
		}
		if a.Up = true; a.End == nil {
			return nil, false
		}
		a.Low = w.Low(from)
		return a, constant && n == 1 && w.Uniform(from) && w.Uniform(end)
	case op == ir.Sub && (compares == ir.Gt || compares == ir.Ge) && constant && n > 0 && floored && floor >= 0 && n < 1<<31 && all.Least < -1<<31:
		a.End, a.Low = end, true
		return a, n == 1 && w.Uniform(from)
	case (op == ir.Div && constant && n > 0 || op == ir.Shr) && all.Least < 0:
		a.End, a.Low = Fixed(0), w.Low(from)
		return a, false
	}
	return nil, false
}

// choice follows a switch. Behind the switch, the walk knows at most what it knew before the switch.
func (w *walk) choice(s *ir.Stmt) {
	falls := false
	for _, c := range s.Clauses {
		falls = falls || c.Falls
	}
	known, path, locals := w.known, w.path, w.frame.locals
	forget := func() {
		for _, r := range s.Regions() {
			w.forget(r)
		}
	}
	for _, c := range s.Clauses {
		w.known, w.path, w.frame.locals = known, path, slices.Clone(locals)
		if falls {
			forget()
		}
		w.maybe()
		for _, t := range c.Tests {
			w.region(t.Head)
			cond := w.condition(t.Cond)
			if len(c.Tests) == 1 && !falls {
				w.assume(cond, true, w.steps)
				w.path[len(w.path)-1].Exact = false
			}
		}
		w.region(c.Body)
	}
	w.known, w.path, w.frame.locals = known, path, locals
	forget()
	if ExitOf(s).Beyond {
		w.maybe()
	}
}

// call walks through the function that v calls.
func (w *walk) call(v *ir.Value) val {
	in := newFrame(v.Call)
	for i, a := range v.Args {
		switch {
		case a.Op == ir.Address:
			use := w.effects[v.Call].Params[i]
			w.place(a.Place, Access{Read: use.Read, Write: use.Written, Part: true}, a.Pos)
		default:
			in.params[i] = w.eval(a)
		}
	}
	if w.calls++; w.calls > mostCalls {
		if w.Lost == "" {
			w.Lost = w.line(v.Pos) + ": the kernel makes too many calls to follow them all"
		}
		return w.unknown(v.Type)
	}
	caller, known, path := w.frame, w.known, w.path
	w.frame = in
	w.region(v.Call.Body)
	w.frame, w.known, w.path = caller, known, path
	return w.result(in, v.Type)
}

// mostCalls is how many calls are followed. A kernel with more calls has functions that call other functions many times, and its footprint would be long.
const mostCalls = 200

// line returns a position as file:line.
func (w *walk) line(pos token.Pos) string {
	if w.position == nil {
		return "?"
	}
	at := w.position(pos)
	return fmt.Sprintf("%s:%d", filepath.Base(at.Filename), at.Line)
}

// result returns what is known of the result of a function that was followed.
func (w *walk) result(in *frame, t *ir.Type) val {
	var all []Sum
	var where [][]Known
	for _, r := range in.returns {
		if len(r.all) != 1 {
			return w.unknown(t)
		}
		if len(in.returns) == 1 {
			return r.all[0]
		}
		if r.all[0].n == nil {
			return w.unknown(t)
		}
		all, where = append(all, r.all[0].n), append(where, r.known)
	}
	if _, ok := numbered(t); !ok || len(all) == 0 {
		return w.unknown(t)
	}
	low := !slices.ContainsFunc(all, func(p Sum) bool { return !w.Low(p) })
	return val{n: w.atom(Atom{Kind: IsResult, Op: "Or", Args: all, Where: where, Low: low}).Sum()}
}
