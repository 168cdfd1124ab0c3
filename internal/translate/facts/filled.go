package facts

import (
	"slices"

	"github.com/go-halyard/halyard/internal/translate/ir"
)

// Filled reports whether every thread of a kernel writes its own element of a shared array before any thread can read it. The indexes of a thread's own
// element are its places in the block: the result has the dimension of each. Then only elements without a thread have to be set to zero, and no barrier is
// needed after that.
//
// It knows one form. The statements of the kernel, or of one of its loops, have a store to the thread's own element, and after it a barrier. Between the
// two, threads use only their own elements. No statement before that barrier leaves anything. The array is not used before the store and, in the case of a
// loop, not after the loop.
func Filled(k *ir.Function, array *ir.Local) (dims []int, ok bool) {
	lists := []*ir.Region{k.Body}
	for _, s := range k.Body.List {
		if s.Do == ir.Loop && s.Then != nil {
			lists = append(lists, s.Then)
		}
	}
	for _, r := range lists {
		for i, s := range r.List {
			f := &filled{array: array}
			if s.Do != ir.Store || !f.own(s.Place) || f.uses(s.Value) {
				continue
			}
			at := i + 1
			for at < len(r.List) && !beginsWithBarrier(r.List, at) {
				at++
			}
			if at == len(r.List) {
				break
			}
			f.first, f.barrier, f.within = s, r.List[at], r
			f.region(k.Body, r == k.Body)
			if !f.wrong {
				return f.dims, true
			}
			break
		}
	}
	return nil, false
}

// filled is a walk through a kernel that looks for uses of an array in their order.
type filled struct {
	array          *ir.Local
	dims           []int
	first, barrier *ir.Stmt
	within         *ir.Region // the region of first
	begun, met     bool       // first, or the barrier, has been passed
	wrong          bool
}

// own reports whether a place is the thread's own element. The first such place determines dims.
func (f *filled) own(p *ir.Place) bool {
	if p.Local != f.array {
		return false
	}
	var dims []int
	t := f.array.Type
	for _, part := range p.Path {
		v := part.Index
		for v != nil && v.Op == ir.Convert && v.Args[0].Type.Integer() && v.Type.Bits() == 64 {
			v = v.Args[0]
		}
		if v == nil || v.Op != ir.InBlock || slices.Contains(dims, v.Which[0]) {
			break
		}
		dims, t = append(dims, v.Which[0]), t.Elem
	}
	if t.Kind == ir.Array || len(dims) != len(p.Path) || f.dims != nil && !slices.Equal(dims, f.dims) {
		return false
	}
	f.dims = dims
	return true
}

func (f *filled) uses(v *ir.Value) (found bool) {
	if v.Place != nil && v.Place.Local == f.array {
		return true
	}
	return !v.Bound && slices.ContainsFunc(v.Operands(), f.uses)
}

// region goes through statements. around says that the region is that of the store, or inside it.
func (f *filled) region(r *ir.Region, around bool) {
	if r == nil {
		return
	}
	around = around || r == f.within
	for _, s := range r.List {
		switch {
		case s == f.first:
			f.begun = true
			continue
		case s == f.barrier:
			f.met = true
		}
		switch s.Do {
		case ir.Return, ir.Break, ir.Continue:
			f.wrong = f.wrong || !f.met
		}
		if s.Place != nil && s.Place.Local == f.array {
			f.use(s.Place, around)
		}
		for _, v := range s.Operands() {
			f.value(v, around, s.Do == ir.Let)
		}
		for _, in := range s.Regions() {
			f.region(in, around)
		}
		if s.Do == ir.Loop && s.Value != nil {
			f.value(s.Value, around, false)
		}
		for _, c := range s.Clauses {
			for _, t := range c.Tests {
				f.value(t.Cond, around, false)
			}
		}
	}
}

func (f *filled) value(v *ir.Value, around, let bool) {
	if v.Bound && !let {
		return
	}
	if v.Place != nil && v.Place.Local == f.array {
		f.use(v.Place, around)
	}
	for _, a := range v.Operands() {
		f.value(a, around, false)
	}
}

func (f *filled) use(p *ir.Place, around bool) {
	f.wrong = f.wrong || !f.begun || !around || !f.met && !f.own(p)
}

// beginsWithBarrier reports whether a statement of a list is a barrier, or a loop that runs at least once and whose body begins with a barrier.
func beginsWithBarrier(list []*ir.Stmt, i int) bool {
	s := list[i]
	if s.Do == ir.Loop && s.Then != nil && len(s.Then.List) > 0 && runs(list[:i], s) {
		return beginsWithBarrier(s.Then.List, 0)
	}
	return s.Do == ir.Barrier
}

// runs reports whether constants show that a loop's body runs at least once. before are the statements before it.
func runs(before []*ir.Stmt, s *ir.Stmt) bool {
	var x, y *ir.Value
	var op ir.Op
	switch v := s.Value; {
	case s.Count != nil:
		x, y, op = s.Count.From, s.Count.End, s.Count.Op
	case v == nil:
		return true
	case s.Head != nil && len(s.Head.List) > 0 || !v.Op.Compares() || v.Args[0].Op != ir.Load || len(before) == 0:
		return false
	default:
		first := before[len(before)-1] // it may give the loop's variable its first value
		if at := v.Args[0].Place; first.Do != ir.Store || first.Place.Local == nil || first.Place.Local != at.Local || len(at.Path) > 0 {
			return false
		}
		x, y, op = first.Value, v.Args[1], v.Op
	}
	from, ok := x.Const.(int64)
	end, ok2 := y.Const.(int64)
	if !ok || !ok2 {
		return false
	}
	return map[ir.Op]bool{ir.Lt: from < end, ir.Le: from <= end, ir.Gt: from > end, ir.Ge: from >= end, ir.Ne: from != end}[op]
}
