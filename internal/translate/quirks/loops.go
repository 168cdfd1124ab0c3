package quirks

import (
	"slices"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// loops finds loops that need another form.
func (q *pass) loops() {
	has := false
	q.f.Body.Visit(func(s *ir.Stmt) {
		switch s.Do {
		case ir.Loop:
			has = true
			q.Apart[s], q.Ordered[s] = q.apart(s), q.ordered(s)
			q.Unroll[s], q.Steady[s] = q.unrolled(s), q.steady(s)
		case ir.Return:
			q.Looped[s] = q.f.Kernel && has
		}
	}, func(v *ir.Value) { has = has || v.Op == ir.Call && hasLoops(v.Call) })
	// Drivers that end the loops of a thread after some number of rounds do so for all of its loops from then on. A kernel with loops can ask at its end
	// whether the device still runs loops. Only a launch that may pass the number of rounds has the question compiled in.
	q.Loops = q.f.Kernel && has
}

// hasLoops reports whether a function has loops, or calls one that has.
func hasLoops(f *ir.Function) (has bool) {
	f.Body.Visit(func(s *ir.Stmt) { has = has || s.Do == ir.Loop }, func(v *ir.Value) { has = has || v.Op == ir.Call && hasLoops(v.Call) })
	return has
}

// apart returns the macro for a condition around a loop of which threads may take different numbers of rounds, or "". The condition is true, and depends on
// the thread for PoCL, so that each thread is left to run the loop by itself.
//
// PoCL 7.1 lets all threads of a block take the rounds of an inner loop together if all take the same number of them. It does not see that some threads
// may have left the outer loop before, and then lets all leave it when the first does. Functions may have loops, also those of packages math and
// math/bits, and the comparison of arrays is one.
//
// PoCL 3.1 and 7.1 keep one variable for all threads of a block if a loop only copies to it what is the same for all: its index, numbers, other such
// variables (for k := range n { last = k }; a, b = b, a). They do not see that threads may have taken different numbers of rounds. It shows where the variable
// is used after a barrier.
func (q *pass) apart(loop *ir.Stmt) string {
	nested, leaves, waits := false, false, false
	for _, r := range loop.Regions() {
		r.Visit(func(s *ir.Stmt) {
			switch s.Do {
			case ir.Loop:
				nested = true
			case ir.Return:
				leaves = true
			case ir.Break:
				leaves = leaves || s.Target.Do == ir.Loop
			case ir.Continue:
				leaves = leaves || s.Target != loop
			case ir.Barrier:
				waits = true
			}
		}, func(v *ir.Value) {
			nested = nested || v.Op == ir.Call || v.Op == ir.Go || v.Op <= ir.Ne && v.Op >= ir.Eq && v.Args[0].Type.Kind >= ir.Array
			waits = waits || v.Op == ir.Call && q.effects[v.Call].Barriers
		})
	}
	switch {
	case waits || !leaves && !q.differs(loop):
		return ""
	case q.Waits && q.outlives(loop):
		return "GO_EACH"
	case nested:
		return "GO_APART"
	}
	return ""
}

func usesOf(r *ir.Region) map[*ir.Local]used {
	uses := map[*ir.Local]used{}
	note := func(p *ir.Place, stored bool) {
		if p != nil && p.Local != nil {
			uses[p.Local] = used{uses[p.Local].times + 1, uses[p.Local].stored || stored}
		}
	}
	r.Visit(func(s *ir.Stmt) { note(s.Place, s.Do == ir.Store) }, func(v *ir.Value) { note(v.Place, v.Op != ir.Load) })
	return uses
}

// outlives reports whether a loop stores to a variable that is used outside of it, too.
func (q *pass) outlives(loop *ir.Stmt) bool {
	if q.uses == nil {
		q.uses = usesOf(q.f.Body)
	}
	for l, u := range usesOf(&ir.Region{List: []*ir.Stmt{loop}}) {
		if u.stored && l.Space == ir.Private && q.uses[l].times > u.times {
			return true
		}
	}
	return false
}

// differs reports whether threads of a block may end a loop by its condition after different numbers of rounds.
func (q *pass) differs(loop *ir.Stmt) bool {
	ends := []*ir.Value{loop.Value}
	if c := loop.Count; c != nil {
		ends = []*ir.Value{c.From, c.End}
	}
	if q.varies == nil {
		var args []facts.Varies // a function does not know what it is called with
		if !q.f.Kernel {
			args = slices.Repeat([]facts.Varies{facts.Thread}, len(q.f.Params))
		}
		q.varies = facts.VarianceOf(q.f, q.effects, args)
	}
	return slices.ContainsFunc(ends, func(v *ir.Value) bool { return v == nil || q.varies.Values[v.ID] > facts.Block })
}

// ordered reports whether a loop computes with floats, stores to elements, or calls a function that may.
//
// Intel's compiler runs the last threads of a block one by one, and all threads of a small block, and computes several rounds of their loops at once. It
// keeps several sums of floats and adds them up in the end, which rounds otherwise than one after the other. And it does so though one round
// reads the element that an earlier one stores. Other loops may be faster if it can.
func (q *pass) ordered(loop *ir.Stmt) (needs bool) {
	number := func(v *ir.Value) {
		needs = needs || v.Op == ir.Call || v.Op == ir.Atomic || v.Type.Float() || v.Type.Complex()
	}
	if loop.Value != nil {
		(&ir.Region{List: []*ir.Stmt{{Do: ir.Return, Values: []*ir.Value{loop.Value}}}}).Visit(nil, number)
	}
	for _, r := range loop.Regions() {
		r.Visit(func(s *ir.Stmt) {
			needs = needs || s.Do == ir.Store && (s.Place.Local == nil || len(s.Place.Path) > 0)
		}, number)
	}
	return needs
}

// guardOf returns the guard of a kernel, or nil. The kernel is written twice then: without the condition for blocks whose threads are all below the end,
// and with it for the others. Without conditions, compilers for processors compute several threads at once. Shared memory is cleared by all threads first,
// so a kernel that has some is written once.
func guardOf(f *ir.Function, effects *facts.Effects) *Guard {
	list, copies := f.Body.List, 0
	for copies < len(list) && list[copies].Do == ir.Store && list[copies].Value.Op == ir.Argument {
		copies++
	}
	g := &Guard{Copies: list[:copies]}
	list = list[copies:]
	if len(list) < 2 || effects.Shared || list[0].Do != ir.Let || list[1].Do != ir.If || list[1].Else != nil {
		return nil
	}
	i, branch := list[0].Value, list[1]
	cond := branch.Value
	if i.Op != ir.InGrid || i.Which[0] != 0 || cond.Op != ir.Lt && cond.Op != ir.Ge || cond.Args[0] != i {
		return nil
	}
	g.Index, g.End = list[0], cond.Args[1]
	switch then := branch.Then.List; {
	case g.End.Op != ir.Argument && g.End.Op != ir.Len:
		return nil
	case cond.Op == ir.Lt && len(list) == 2:
		g.Rest = then
	case cond.Op == ir.Ge && len(list) > 2 && len(then) == 1 && then[0].Do == ir.Return:
		g.Rest = list[2:]
	default:
		return nil
	}
	return g
}
