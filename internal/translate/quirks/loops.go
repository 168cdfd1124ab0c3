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
	// Some drivers end a thread's loop after some number of rounds, and then end each later loop at once. So a kernel with loops checks at its end whether the
	// device still runs loops. The check is compiled in only for a launch that may reach the number of rounds.
	q.Loops = q.f.Kernel && has
}

// hasLoops reports whether a function has loops, or calls a function that has loops.
func hasLoops(f *ir.Function) (has bool) {
	f.Body.Visit(func(s *ir.Stmt) { has = has || s.Do == ir.Loop }, func(v *ir.Value) { has = has || v.Op == ir.Call && hasLoops(v.Call) })
	return has
}

// apart returns the macro for the condition of an if around a loop, or "" if the loop needs no such if. It needs one only if threads may take different numbers
// of rounds. The condition is always true. PoCL sees a condition that depends on the thread, and so runs the loop for each thread by itself.
//
// PoCL 7.1 lets all threads of a block take the rounds of an inner loop together if all take the same number of rounds. It does not see that some threads may
// have left the outer loop before, and then lets all threads leave the outer loop when the first does. A call counts as an inner loop, even of a function of
// package math or math/bits, and so does a comparison of arrays.
//
// PoCL 3.1 and 7.1 let the threads of a block share a variable if a loop stores only values in it that are the same for all threads: the loop's index,
// constants, or other such variables. Examples are "for k := range n { last = k }" and "a, b = b, a". PoCL does not see that threads may have taken different
// numbers of rounds. The wrong value shows if the variable is used after a barrier. It does not if each stored value has an element in it that is the thread's
// own, as in "sum += x[t.Local(0)+k]".
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

// usesOf returns how the statements of a region use each local.
func usesOf(r *ir.Region) map[*ir.Local]used {
	uses := map[*ir.Local]used{}
	r.Visit(func(s *ir.Stmt) {
		if s.Do == ir.Store && s.Place.Local != nil {
			u := uses[s.Place.Local]
			u.stores = append(u.stores, s)
			uses[s.Place.Local] = u
		}
	}, func(v *ir.Value) {
		if v.Place != nil && v.Place.Local != nil {
			u := uses[v.Place.Local]
			u.reads, u.passed = u.reads+1, u.passed || v.Op != ir.Load
			uses[v.Place.Local] = u
		}
	})
	return uses
}

// outlives reports whether a loop stores, to a variable that is also read after the loop, a value that PoCL takes to be the same for all threads.
func (q *pass) outlives(loop *ir.Stmt) bool {
	if q.uses == nil {
		q.uses, q.inner = usesOf(q.f.Body), map[*ir.Stmt]bool{}
		q.f.Body.Visit(func(s *ir.Stmt) {
			for _, r := range s.Regions() {
				r.Visit(func(in *ir.Stmt) { q.inner[in] = q.inner[in] || s.Do == ir.Loop }, nil)
			}
		}, nil)
	}
	for l, u := range usesOf(&ir.Region{List: []*ir.Stmt{loop}}) {
		all := q.uses[l]
		after := all.reads > u.reads || q.inner[loop] && len(all.stores) > len(u.stores) // the next run of an inner loop may read what this one has stored
		if l.Space == ir.Private && after && (u.passed || slices.ContainsFunc(u.stores, func(s *ir.Stmt) bool { return !q.loaded(s.Value, loop) })) {
			return true
		}
	}
	return false
}

// loaded reports whether a value is an element of which each thread has its own, or a sum with such an element. No compiler takes such a value to be the same
// for all threads.
func (q *pass) loaded(v *ir.Value, loop *ir.Stmt) bool {
	switch v.Op {
	case ir.Load:
		path := v.Place.Path
		return v.Place.Space() != ir.Private && len(path) > 0 && path[len(path)-1].Index != nil && path[len(path)-1].Col == nil &&
			q.ofThread(path[len(path)-1].Index, loop)
	case ir.Add:
		return q.loaded(v.Args[0], loop) && plain(v.Args[1]) || plain(v.Args[0]) && q.loaded(v.Args[1], loop)
	}
	return false
}

// plain reports whether a value is a number or a variable.
func plain(v *ir.Value) bool { return v.Op == ir.Const || facts.Loaded(v) != nil }

// ofThread reports whether an index is the thread's place in a dimension, perhaps plus numbers that are the same for all threads. The index of a loop that
// begins at such a number counts as one, too.
func (q *pass) ofThread(v *ir.Value, loop *ir.Stmt) bool {
	shared := func(v *ir.Value) bool { return q.variance().Values[v.ID] <= facts.Block }
	switch v.Op {
	case ir.InGrid, ir.InBlock:
		return true
	case ir.Counter:
		return loop.Count != nil && loop.Count.Index == v && q.ofThread(loop.Count.From, loop)
	case ir.Load:
		l, _ := facts.Stepped(loop)
		return l != nil && facts.Loaded(v) == l && !slices.ContainsFunc(q.uses[l].stores, func(s *ir.Stmt) bool {
			return s != loop.Step.List[0] && !q.ofThread(s.Value, loop)
		})
	case ir.Add:
		return q.ofThread(v.Args[0], loop) && shared(v.Args[1]) || shared(v.Args[0]) && q.ofThread(v.Args[1], loop)
	case ir.Sub:
		return q.ofThread(v.Args[0], loop) && shared(v.Args[1])
	case ir.Mul:
		n, ok := facts.Constant(v.Args[1])
		return ok && n != 0 && n < 1<<16 && q.ofThread(v.Args[0], loop)
	}
	return false
}

// differs reports whether threads of a block may end a loop by its condition after different numbers of rounds.
func (q *pass) differs(loop *ir.Stmt) bool {
	ends := []*ir.Value{loop.Value}
	if c := loop.Count; c != nil {
		ends = []*ir.Value{c.From, c.End}
	}
	return slices.ContainsFunc(ends, func(v *ir.Value) bool { return v == nil || q.variance().Values[v.ID] > facts.Block })
}

// variance returns between which threads values of the function may differ.
func (q *pass) variance() *facts.Variance {
	if q.varies == nil {
		var args []facts.Varies // the arguments of a function that is not a kernel are not known, so they may vary by thread
		if !q.f.Kernel {
			args = slices.Repeat([]facts.Varies{facts.Thread}, len(q.f.Params))
		}
		q.varies = facts.VarianceOf(q.f, q.effects, args)
	}
	return q.varies
}

// ordered reports whether a loop computes with floats, stores to elements, or calls a function, which may do either.
//
// Intel's compiler runs the last threads of a block one by one, and also all threads of a small block. It computes several rounds of the loops of such threads
// at once. It keeps several partial sums of floats and adds them up at the end, which changes the rounding. It also computes rounds at once if one round reads
// an element that an earlier round stores, which is wrong. Loops that do neither are left to the compiler, since they may be faster that way.
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

// guardOf returns the guard of a kernel, or nil. A kernel with a guard is printed twice. The text without the guard's condition is for blocks whose threads are
// all below Guard.End, the text with it for the other blocks. Compilers for processors vectorize the threads in the text without the condition. A kernel with
// shared memory is printed once, because all threads must clear that memory first.
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
