package array

import "math"

// End, as the upper bound of a [Range], means the extent of the axis.
const End = math.MaxInt

// Range selects indices of one axis; [All] and [Between] make one. The zero Range is invalid.
type Range struct{ lo, hi, step int }

// All selects a whole axis.
func All() Range { return Range{0, End, 1} }

// Between selects the indices lo to hi-1; lo <= hi is required.
func Between(lo, hi int) Range { return Range{lo, hi, 1} }

// By returns the range with a step, which must not be 0: lo, lo+step, ... below hi. With a negative step the indices go down: hi-1,
// hi-1+step, ... not below lo.
func (r Range) By(step int) Range { return Range{r.lo, r.hi, step} }
