package array

import "math"

// End, as the upper bound of a [Range], means the extent of the axis.
const End = math.MaxInt

// Range selects indices of one axis: Lo, Lo+Step, ... below Hi. With a negative Step it selects them downward:
// Hi-1, Hi-1+Step, ... not below Lo. Lo <= Hi and Step ≠ 0 are required, so the zero Range is invalid.
type Range struct{ Lo, Hi, Step int }

// All selects a whole axis.
func All() Range { return Range{0, End, 1} }

// Between selects the indices lo to hi-1.
func Between(lo, hi int) Range { return Range{lo, hi, 1} }

// By returns the range with the given step.
func (r Range) By(step int) Range { return Range{r.Lo, r.Hi, step} }
