package array

import "math"

// End as the upper bound of a [Range] is the extent of the axis.
const End = math.MaxInt

// Range selects indices of one axis: Lo, Lo+Step, ... below Hi; with a negative Step the walk goes down,
// Hi-1, Hi-1+Step, ... as far as Lo. It must select something: Lo < Hi and Step ≠ 0, so the zero
// Range is none.
type Range struct{ Lo, Hi, Step int }

// All is a whole axis.
func All() Range { return Range{0, End, 1} }

// Between is the indices lo to hi-1.
func Between(lo, hi int) Range { return Range{lo, hi, 1} }

// By is the range with another step.
func (r Range) By(step int) Range { return Range{r.Lo, r.Hi, step} }
