package quirks

import (
	"slices"

	"github.com/go-halyard/halyard/internal/translate/edges"
	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// memory finds reads and stores that must be volatile, so that the compiler does not move or repeat them.
//
// If a value that was read before a barrier is needed after the barrier, PoCL 7.1 reads the memory again (pocl/pocl#2269). So in kernels with barriers, reads
// of elements are volatile. The exceptions are reads of buffers that the kernel never writes, if the kernel itself makes these reads.
//
// PoCL 3.1 and 7.1 assume that two uses of memory are independent if they do not see that the two addresses are equal, even within one thread. Then they move a
// store past the other use. So a store is volatile if another use of the memory may be of the same element, but with an index that is another expression: see
// [pass.mixed]. Threads with volatile stores do not run as vectors. Stores to a thread's own variables are moved only in kernels with barriers. PoCL 7.1 moves
// a volatile store of a structure or array past reads that are not volatile, so these reads become volatile as well.
//
// Mesa 22.3's Rusticl crashes if a thread reads an element of an array argument at an index that is not constant. Such an argument is copied first.
func (q *pass) memory() {
	uses := map[any][]use{} // by the local or parameter
	stores, loads := map[*ir.Stmt]any{}, map[any][]*ir.Value{}
	note := func(p *ir.Place, through bool) any {
		if p.Space() == ir.Constant || p.Space() == ir.Private && (!q.Waits || len(p.Path) == 0 && p.Local != nil && !through) {
			return nil
		}
		var root any = p.Param
		if p.Local != nil {
			root = p.Local
		}
		uses[root] = append(uses[root], use{p.Path, through || p.Param != nil && p.Param.Type.Kind == ir.Pointer})
		return root
	}
	q.findInLoops(q.f.Body, false)
	q.f.Body.Visit(func(s *ir.Stmt) {
		if s.Do == ir.Store {
			if root := note(s.Place, false); root != nil {
				stores[s] = root
			}
		}
	}, func(v *ir.Value) {
		switch {
		case v.Op == ir.Argument && v.Type.Memory(): // the called function may use any of the parameter's elements
			uses[v.Param] = append(uses[v.Param], use{nil, true})
		case v.Op == ir.Load:
			q.Again[v] = q.Waits && (v.Place.Local == nil || len(v.Place.Path) > 0) && !q.onlyRead(v.Place)
			if root := note(v.Place, false); root != nil {
				loads[root] = append(loads[root], v)
			}
		case v.Op == ir.Address:
			note(v.Place, true)
		case v.Op == ir.Atomic:
			note(v.Place, false)
		case v.Op == ir.Extract && len(v.Args) == 2 && v.Args[1].Op != ir.Const: // a compiler keeps the array in memory
			q.Again[v] = q.Waits
			root := v.Args[0]
			for root.Op == ir.Extract && !root.Bound {
				root = root.Args[0]
			}
			switch {
			case root.Op == ir.Argument && q.f.Kernel:
				q.Own[root.Param] = true
			case root.Op == ir.Argument:
				q.Settled[root.Param] = q.Waits
			default:
				q.Settled[root] = q.Waits
			}
		}
	})
	several := map[any]bool{} // what mixed has found
	for s, root := range stores {
		if l, ok := root.(*ir.Local); ok && l.Space == ir.Private {
			q.Stored[s] = q.variable(uses[root])
			q.Settled[l] = q.Stored[s]
		} else {
			if _, known := several[root]; !known {
				several[root] = q.mixed(uses[root])
			}
			q.Stored[s] = several[root]
		}
		if t := s.Value.Type; q.Stored[s] && (t.Kind >= ir.Array || t.Complex()) {
			for _, v := range loads[root] {
				q.Again[v] = true
			}
		}
	}
	for root, all := range uses {
		if l, ok := root.(*ir.Local); ok && l.Space == ir.Private && q.variable(all) {
			q.Settled[l] = true
		}
	}
}

// use is one use of memory.
type use struct {
	path    []ir.Part
	through bool // through a pointer: a function that is called may use any part of it
}

// onlyRead reports whether a place is in a table, or in a buffer that the kernel does not write.
func (q *pass) onlyRead(p *ir.Place) bool {
	return p.Space() == ir.Constant || q.f.Kernel && p.Param != nil && p.Space() == ir.Global && !q.effects[q.f].Params[p.Param.Index].Written
}

// variable reports whether some use is of an element whose index is not constant. For private memory one such use is enough, since the store of the first value
// is another use.
func (q *pass) variable(all []use) bool {
	return slices.ContainsFunc(all, func(u use) bool {
		return u.through || slices.ContainsFunc(u.path, func(s ir.Part) bool { return s.Col != nil || s.Index != nil && s.Index.Op != ir.Const })
	})
}

// mixed reports whether two uses of a parameter or of shared memory may be of the same element by indexes that are not the same expression. In a function that
// is not a kernel, it is not known which elements the caller uses. So there, one index that is not constant is enough.
func (q *pass) mixed(all []use) bool {
	if !q.variable(all) {
		return false
	}
	if !q.f.Kernel {
		return true
	}
	for i, u := range all {
		if len(all) > 1 && (u.through || slices.ContainsFunc(u.path, func(s ir.Part) bool { return q.recurs(s.Index) || q.recurs(s.Col) })) {
			return true
		}
		for _, w := range all[:i] {
			if q.overlap(u.path, w.path) {
				return true
			}
		}
	}
	return false
}

// overlap reports whether two paths that are different expressions may lead to the same memory.
func (q *pass) overlap(x, y []ir.Part) bool {
	for i := range min(len(x), len(y)) {
		switch a, b := x[i], y[i]; {
		case a.Index == nil && a.Field != b.Field:
			return false
		case a.Index != nil && a.Index.Op == ir.Const && b.Index.Op == ir.Const && a.Index.Const != b.Index.Const && a.Col == nil:
			return false
		case a.Index != nil && (q.unequal(a.Index, b.Index) || a.Col != nil && q.unequal(a.Col, b.Col)):
			return false
		case a.Index != nil && !facts.SameValue(a.Index, b.Index, q.onlyRead) || a.Col != nil && !facts.SameValue(a.Col, b.Col, q.onlyRead):
			return true
		}
	}
	return len(x) != len(y)
}

// unequal reports whether two indexes of a kernel are never the same number for one thread. That holds if they differ by a constant other than 0,
// or by an upper limit of the places of all threads that use memory.
func (q *pass) unequal(a, b *ir.Value) bool {
	if q.row == nil {
		q.row = edges.New(edges.Names{Place: ir.InGrid, Name: func(v *ir.Value) string { return edges.Named(v, "r") }})
		q.limits, _ = q.row.Limits(q.f.Body)
	}
	step, d, ok := q.row.Of(&ir.Value{Op: ir.Sub, Type: a.Type, Args: []*ir.Value{a, b}})
	n, constant := d.Constant()
	return ok && step == 0 && (constant && n != 0 || slices.ContainsFunc(q.limits, func(l edges.Limit) bool {
		return l.At.Equal(d) || l.At.Equal(facts.Fixed(0).Plus(d, -1))
	}))
}

// recurs reports whether an index that differs between the rounds of a loop may be the same number in two of the rounds, like k&3.
func (q *pass) recurs(v *ir.Value) bool {
	if v == nil {
		return false
	}
	switch v.Op {
	case ir.Counter:
		return false
	case ir.Add, ir.Sub, ir.Convert, ir.Neg:
		return slices.ContainsFunc(v.Args, q.recurs)
	case ir.Mul:
		return q.recurs(v.Args[0]) || q.recurs(v.Args[1]) || q.changes(v.Args[0]) && q.changes(v.Args[1])
	}
	return q.changes(v)
}

// changes reports whether a value may differ between the rounds of a loop.
func (q *pass) changes(v *ir.Value) bool {
	if v.Bound {
		return q.inLoops[v]
	}
	return v.Op == ir.Load && !q.onlyRead(v.Place) || slices.ContainsFunc(v.Operands(), q.changes)
}

// findInLoops finds the bound values that may differ between the rounds of a loop.
func (q *pass) findInLoops(r *ir.Region, inLoop bool) {
	if r == nil {
		return
	}
	for _, s := range r.List {
		if s.Do == ir.Let && inLoop {
			q.inLoops[s.Value] = q.changing(s.Value)
		}
		if s.Count != nil {
			q.inLoops[s.Count.Index] = true
		}
		for _, in := range s.Regions() {
			q.findInLoops(in, inLoop || s.Do == ir.Loop)
		}
	}
}

// changing reports whether a value that is computed in a loop may differ between its rounds.
func (q *pass) changing(v *ir.Value) bool {
	return v.Op >= ir.Load && !(v.Op == ir.Load && q.onlyRead(v.Place)) || slices.ContainsFunc(v.Operands(), q.changes)
}
