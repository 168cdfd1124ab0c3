package facts

import "github.com/go-halyard/halyard/internal/translate/ir"

// Races returns the statements of a kernel that change one element and that every thread runs, such as x[0] += 1: all threads read the element before others have
// written it. A condition that may be for one thread, such as t.Global(0) == 0, excludes what it is about; a condition such as i < len(x) does not.
func Races(f *ir.Function, effects map[*ir.Function]*Effects) (found []*ir.Stmt) {
	r := &races{VarianceOf(f, effects, nil), nil}
	r.region(f.Body)
	return r.found
}

type races struct {
	*Variance
	found []*ir.Stmt
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
			if r.common(s.Place) && reads(s.Value, s.Place) {
				r.found = append(r.found, s)
			}
		case ir.If:
			if r.some(s.Value) {
				if !r.passes(s.Then) || !r.passes(s.Else) {
					return false
				}
				continue
			}
			then, other := r.region(s.Then), r.region(s.Else)
			if !then && !other {
				return false
			}
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

// common reports whether a place is the same element for all threads: of a buffer, or of memory that a block shares.
func (r *races) common(p *ir.Place) bool {
	most := Nothing
	switch p.Space() {
	case ir.Private, ir.Constant:
		return false
	case ir.Shared:
		most = Block
	}
	for _, i := range p.Indexes() {
		if r.Values[i.ID] > most {
			return false
		}
	}
	return true
}

// reads reports whether a value is computed from what a place has.
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
