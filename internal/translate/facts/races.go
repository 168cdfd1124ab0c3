package facts

import (
	"slices"

	"github.com/go-halyard/halyard/internal/translate/ir"
)

// Races returns the statements of a kernel that write one element and that every thread runs. Some change the element, such as x[0] += 1: all threads read it
// before others have written it. The others write a value that differs between the threads, such as x[0] = y[i]. Statements under a condition that may hold for
// one thread, such as t.Global(0) == 0, are left out; those under one such as i < len(x) are not. Under a condition that reads elements, only the second kind
// is left out.
func Races(f *ir.Function, effects map[*ir.Function]*Effects) (found []Race) {
	r := &races{Variance: VarianceOf(f, effects, nil)}
	r.region(f.Body)
	return r.found
}

// Race is a statement that writes one element in every thread.
type Race struct {
	*ir.Stmt
	Reads bool // it changes the element; otherwise the threads write different values
}

type races struct {
	*Variance
	found  []Race
	chosen bool // a condition that reads elements may have chosen a few threads
}

// region looks at the statements of a region, and reports whether all threads get to its end.
func (r *races) region(list *ir.Region) bool {
	if list == nil {
		return true
	}
	for _, s := range list.List {
		switch s.Do {
		case ir.Return, ir.Break, ir.Continue:
			return false
		case ir.Store:
			most, ok := r.common(s.Place)
			if changes := ok && reads(s.Value, s.Place); changes || ok && !r.chosen && r.differs(s.Value, most) {
				r.found = append(r.found, Race{s, changes})
			}
		case ir.If:
			if r.some(s.Value) {
				if !r.passes(s.Then) || !r.passes(s.Else) {
					return false
				}
				continue
			}
			before := r.chosen
			r.chosen = before || r.Values[s.Value.ID] > Block && asks(s.Value)
			then, other := r.region(s.Then), r.region(s.Else)
			if !then && !other {
				return false
			}
			r.chosen = before || r.chosen && (!then || !other)
		case ir.Loop:
			if !r.region(s.Then) && !r.passes(s.Then) {
				return false
			}
		case ir.Switch:
			return false
		}
	}
	return true
}

// passes reports whether no statement of a region leaves it.
func (r *races) passes(list *ir.Region) bool {
	passes := true
	list.Visit(func(s *ir.Stmt) { passes = passes && s.Do != ir.Return && s.Do != ir.Break && s.Do != ir.Continue }, nil)
	return passes
}

// some reports whether a condition may be true for a few threads only.
func (r *races) some(cond *ir.Value) bool {
	if r.Values[cond.ID] <= Block {
		return false
	}
	if cond.Op < ir.Lt || cond.Op > ir.Ge {
		return true
	}
	return cond.Args[0].Op == ir.Const || cond.Args[1].Op == ir.Const
}

// common reports whether a place is the same element for all threads that share the memory: of the grid for a buffer, of a block for shared memory. A value
// is the same for these threads if it varies by no more than most.
func (r *races) common(p *ir.Place) (most Varies, ok bool) {
	switch p.Space() {
	case ir.Private, ir.Constant:
		return most, false
	case ir.Shared:
		most = Block
	}
	for _, i := range p.Indexes() {
		if r.Values[i.ID] > most {
			return most, false
		}
	}
	return most, true
}

// differs reports whether a value varies beyond most because of where the threads are, and not only because memory changes between their reads.
func (r *races) differs(v *ir.Value, most Varies) bool {
	from := v.Args
	switch memory := v.Op == ir.Load && v.Place.Space() != ir.Private; {
	case r.Values[v.ID] <= most:
		return false
	case memory:
		from = v.Place.Indexes()
	case len(from) == 0 || v.Op == ir.Call || v.Op == ir.Atomic:
		return true
	}
	return slices.ContainsFunc(from, func(x *ir.Value) bool { return r.differs(x, most) })
}

// asks reports whether a value is computed from the contents of memory or variables.
func asks(v *ir.Value) bool {
	return v.Op == ir.Load || v.Op == ir.Call || v.Op == ir.Atomic || slices.ContainsFunc(v.Args, asks)
}

// reads reports whether a value is computed from the contents of a place.
func reads(v *ir.Value, p *ir.Place) bool {
	if v.Op == ir.Load && SamePlace(v.Place, p, func(*ir.Place) bool { return true }) {
		return true
	}
	for _, x := range v.Operands() {
		if !x.Bound && reads(x, p) {
			return true
		}
	}
	return false
}
