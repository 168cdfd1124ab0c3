package facts

import (
	"slices"

	"github.com/go-halyard/halyard/internal/translate/ir"
)

// Filled reports whether every thread of a kernel writes its own element of a shared array before any thread can read it. The indexes of a thread's own element
// are its places in the block, and dims has the dimension of each index. If ok, only the elements that do not belong to a thread must be set to zero, and no
// barrier is needed after that.
//
// It knows one form. The statements of the kernel, or of one of its loops, have a store to the thread's own element, and a barrier later. Between the store and
// the barrier, threads use only their own elements. No statement before that barrier is a return, a break or a continue. The array is not used before the
// store. If the store is in a loop, the array is not used after the loop either.
func Filled(k *ir.Function, array *ir.Local) (dims []int, ok bool) {
	if array.Sized != nil {
		return nil, false
	}
	lists := []*ir.Region{k.Body}
	for _, s := range k.Body.List {
		if s.Do == ir.Loop && s.Then != nil {
			lists = append(lists, s.Then)
		}
	}
	for _, r := range lists {
		for i, s := range r.List {
			if s.Do != ir.Store || s.Place.Local != array {
				continue
			}
			at := i + 1
			for at < len(r.List) && !beginsWithBarrier(r.List, at) {
				at++
			}
			dims = ownElement(s.Place)
			if dims != nil && at < len(r.List) && !Reads(s.Value, array) && filledFirst(k, r, s, r.List[at], dims) {
				return dims, true
			}
			break
		}
	}
	return nil, false
}

// filledFirst reports whether all other uses of the array come after the store and are inside one region, which is passed as in. The region has the store and
// the barrier. Before the barrier, threads must use only their own elements, and must not return, break or continue.
func filledFirst(k *ir.Function, in *ir.Region, store, barrier *ir.Stmt, dims []int) bool {
	begun, met, right, uses := false, false, true, 0
	use := func(p *ir.Place) {
		if p != nil && p.Local == store.Place.Local {
			uses++
			right = right && begun && (met || slices.Equal(ownElement(p), dims))
		}
	}
	k.Body.Visit(func(s *ir.Stmt) {
		begun, met = begun || s == store, met || s == barrier
		right = right && (met || s.Do != ir.Return && s.Do != ir.Break && s.Do != ir.Continue)
		use(s.Place)
	}, func(v *ir.Value) { use(v.Place) })
	all := uses
	uses = 0
	in.Visit(func(s *ir.Stmt) { use(s.Place) }, func(v *ir.Value) { use(v.Place) })
	return right && uses == all // all uses are in the region, so none comes after the loop
}

// ownElement returns the dimensions of the indexes of an element, in order, if the indexes are the thread's places in its block, each along another dimension.
// Otherwise it returns nil.
func ownElement(p *ir.Place) (dims []int) {
	for _, part := range p.Path {
		v := part.Index
		for v != nil && v.Op == ir.Convert && v.Args[0].Type.Integer() && v.Type.Bits() == 64 {
			v = v.Args[0]
		}
		if v == nil || v.Op != ir.InBlock || slices.Contains(dims, v.Which[0]) {
			return nil
		}
		dims = append(dims, v.Which[0])
	}
	if p.Type.Kind == ir.Array {
		return nil
	}
	return dims
}

// beginsWithBarrier reports whether a statement of a list is a barrier, or a loop that runs at least once and whose body begins with a barrier.
func beginsWithBarrier(list []*ir.Stmt, i int) bool {
	s := list[i]
	if s.Do == ir.Loop && s.Then != nil && len(s.Then.List) > 0 && runs(list[:i], s) {
		return beginsWithBarrier(s.Then.List, 0)
	}
	return s.Do == ir.Barrier
}

// runs reports whether constants show that a loop's body runs at least once. The parameter before has the statements in front of the loop.
func runs(before []*ir.Stmt, s *ir.Stmt) bool {
	if s.Count == nil && s.Value == nil {
		return true
	}
	var last *ir.Stmt // the statement that may give the loop's variable its first value
	if len(before) > 0 {
		last = before[len(before)-1]
	}
	c, ok := countingOf(s, last)
	from, ok2 := Constant(c.from)
	end, ok3 := Constant(c.end)
	return ok && ok2 && ok3 && Holds(from, c.compares, end)
}
