package footprint

import (
	"slices"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// proof compares sums of different threads.
type proof struct {
	*facts.Reach
	work int // the steps of work for the current comparison
}

// less reports whether p is always less than q + step. The sums p and q may belong to different threads. The conditions knownP hold for the thread of p, and
// knownQ for the thread of q.
func (w *proof) less(p facts.Sum, knownP []facts.Known, q facts.Sum, knownQ []facts.Known, step facts.Sum) bool {
	both := slices.Concat(knownP, knownQ)
	w.work = 0
	for _, hi := range w.bounds(p, knownP, true, 0) {
		for _, lo := range w.bounds(q, knownQ, false, 0) {
			if w.positive(step.Plus(hi, -1).Plus(lo, 1), both) {
				return true
			}
		}
	}
	return false
}

// positive reports whether a sum that is the same for all threads is more than 0.
func (w *proof) positive(p facts.Sum, known []facts.Known) bool {
	if p == nil {
		return false
	}
	least := int64(0)
	for m, n := range p {
		if m == "" {
			least += n
			continue
		}
		if n < 0 || n > 1<<30 {
			return false
		}
		for _, id := range facts.Factors(m) {
			switch from := w.least(w.Atoms[id], known); {
			case from < 0:
				return false
			case from == 0:
				n = 0
			}
		}
		least += n
	}
	return least > 0
}

// least returns a lower bound of an atom that is the same for all threads. The lower bound is 1 or 0, or -1 if the atom may be negative.
func (w *proof) least(a *facts.Atom, known []facts.Known) int {
	if a.Kind == facts.IsSize || a.Kind == facts.IsBlocks {
		return 1
	}
	me := a.Sum()
	for _, c := range known {
		n, constant := c.Plus.Constant()
		if c.Of.Equal(me) && constant && n == 0 { // a condition on the atom itself
			if k, ok := c.Bound.Constant(); ok && (k >= 0 && c.Op == ir.Gt || k >= 1 && (c.Op == ir.Ge || c.Op == ir.Eq)) {
				return 1
			}
		}
		if m := c.Bound.Rest(); m.Equal(me) && c.Bound[""] <= 0 && constant && n >= 0 && w.Low(c.Of) && c.Op == ir.Lt {
			return 1
		}
	}
	if a.Low {
		return 0
	}
	return -1
}

// mostBounds limits how many bounds of a sum are tried. Half of mostBounds limits the depth of the search.
const mostBounds = 16

// bounds returns upper bounds of p if above is set, and otherwise lower bounds. Each is a sum that is the same for all threads.
func (w *proof) bounds(p facts.Sum, known []facts.Known, above bool, depth int) (all []facts.Sum) {
	varying, _ := w.Split(p)
	if w.work++; p == nil || depth > mostBounds/2 || w.work > mostWork {
		return nil
	}
	if len(varying) == 0 {
		return []facts.Sum{p}
	}
	try := func(m, rest, bound facts.Sum) {
		if m == nil || rest == nil || bound == nil || len(all) > mostBounds {
			return
		}
		if next := rest.Plus(m.Times(bound), 1); next != nil {
			all = append(all, w.bounds(next, known, above, depth+1)...)
		}
	}
	for _, c := range known {
		m, rest := facts.Extract(varying, c.Of)
		sign := w.sign(m, known)
		if sign == 0 {
			continue
		}
		rest = rest.Plus(p, 1).Plus(varying, -1)
		if b := w.bound(&c, (sign > 0) == above); b != nil {
			if bv, _ := w.Split(b); len(bv) > 0 && depth > 2 {
				continue
			}
			try(m, rest, b)
		}
	}
	for _, k := range varying.Products() {
		for _, id := range facts.Factors(k) {
			a := w.Atoms[id]
			if a.Same {
				continue
			}
			m, rest := w.By(p, a)
			if m == nil {
				continue
			}
			if sign := w.sign(m, known); sign != 0 {
				for _, b := range w.ofAtom(a, (sign > 0) == above) {
					try(m, rest, b)
				}
			}
		}
	}
	return all
}

// ofAtom returns bounds of an atom that follow from its kind: upper bounds if up is set, and otherwise lower bounds.
func (w *proof) ofAtom(a *facts.Atom, up bool) []facts.Sum {
	switch {
	case !up && a.Low:
		return []facts.Sum{facts.Fixed(0)}
	case a.Kind == facts.IsLocal && up:
		return []facts.Sum{w.Once(facts.IsSize, a.Dim).Plus(facts.Fixed(1), -1)}
	case a.Kind == facts.IsRound && a.Up != up:
		return []facts.Sum{a.From}
	case a.Kind == facts.IsRound && up:
		return []facts.Sum{a.End.Plus(facts.Fixed(1), -1)}
	case a.Kind == facts.IsUnknown && a.Type.Most < 1<<32 && up:
		return []facts.Sum{facts.Fixed(a.Type.Most)}
	case a.Kind == facts.IsUnknown && a.Type.Least > -1<<32 && !up:
		return []facts.Sum{facts.Fixed(a.Type.Least)}
	case up && a.Op == "Rest" && a.Low:
		if n, ok := a.Args[1].Constant(); ok && n > 0 {
			return []facts.Sum{facts.Fixed(n - 1)}
		}
	case up && a.Op == "Mask":
		if n, ok := a.Args[1].Constant(); ok && n >= 0 {
			return []facts.Sum{facts.Fixed(n)}
		}
	case up && a.Op == "Min" || !up && a.Op == "Max":
		return a.Args
	}
	return nil
}

// sign returns 1 if a sum is never negative, -1 if it is never positive, and 0 if neither is known.
func (w *proof) sign(p facts.Sum, known []facts.Known) (sign int) {
	for m, n := range p {
		is := 1
		if n < 0 {
			is = -1
		}
		for _, id := range facts.Factors(m) {
			if !w.Atoms[id].Same || w.least(w.Atoms[id], known) < 0 {
				return 0
			}
		}
		if sign != 0 && sign != is {
			return 0
		}
		sign = is
	}
	return sign
}

// bound returns the bound that a condition gives for the sum c.Of: the upper bound if most is set, and otherwise the lower bound. If the condition gives no
// such bound, it returns nil.
func (w *proof) bound(c *facts.Known, most bool) facts.Sum {
	n, constant := c.Plus.Constant()
	for m := range c.Of {
		for _, id := range facts.Factors(m) {
			constant = constant && (n == 0 || n < 1<<30 && n > -1<<30 && w.Atoms[id].Small())
		}
	}
	switch {
	case !constant:
		return nil
	case most && c.Op == ir.Lt:
		return c.Bound.Plus(facts.Fixed(n+1), -1)
	case !most && c.Op == ir.Gt:
		return c.Bound.Plus(facts.Fixed(n-1), -1)
	case most && c.Op == ir.Le || !most && c.Op == ir.Ge || c.Op == ir.Eq:
		return c.Bound.Plus(facts.Fixed(n), -1)
	}
	return nil
}

// independent reports whether a sum and the conditions in known use, for each dimension, either places in the grid or places in blocks, but not both.
func (w *proof) independent(p facts.Sum, known []facts.Known) bool {
	seen := map[int]bool{}
	w.Mentioned(p, seen)
	for _, c := range known {
		w.Mentioned(c.Of, seen)
	}
	var global, inBlock [3]bool
	for id := range seen {
		a := w.Atoms[id]
		global[a.Dim] = global[a.Dim] || a.Kind == facts.IsPlace
		inBlock[a.Dim] = inBlock[a.Dim] || a.Kind == facts.IsBlock || a.Kind == facts.IsLocal
	}
	for d := range 3 {
		if global[d] && inBlock[d] {
			return false
		}
	}
	return true
}

// radix returns the atoms of a sum that differ between threads. It returns true only if different numbers for these atoms give sums that are more than width
// apart. The atoms are then like the digits of a number, such as i and j in i*n + j.
func (w *proof) radix(p, width facts.Sum, known []facts.Known) ([]*facts.Atom, bool) {
	varying, _ := w.Split(p)
	if len(varying) == 0 {
		return nil, true
	}
	seen := map[int]bool{}
	for _, m := range varying.Products() {
		for _, id := range facts.Factors(m) {
			a := w.Atoms[id]
			if a.Same || seen[id] || a.Kind > facts.IsBlock && a.Kind != facts.IsRound {
				continue
			}
			seen[id] = true
			by, rest := w.By(p, a)
			if by == nil || !w.Uniform(by) {
				continue
			}
			for _, step := range []facts.Sum{by, facts.Sum{}.Plus(by, -1)} {
				if w.less(rest.Plus(width, 1), known, rest, known, step) {
					if others, ok := w.radix(rest, width, known); ok {
						return append([]*facts.Atom{a}, others...), true
					}
				}
			}
		}
	}
	return nil, false
}
