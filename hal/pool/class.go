package pool

import "math/bits"

// Sizes are counted in units of the alignment and grouped into classes: one for each number of units
// up to 8, then 8 to each doubling. A size is less than an eighth below the top of its class.
const (
	classes = 320
	// mostUnits is the top of the last class.
	mostUnits = 16 << ((classes - 16) / 8)
)

// classOf is the class of n units, which is at least 1 and at most mostUnits.
func classOf(n uint64) int {
	if n <= 8 {
		return int(n - 1)
	}
	s := bits.Len64(n-1) - 4
	return 8*s + int((n-1)>>uint(s))
}

// unitsOf is the top of a class: the number of units of its blocks.
func unitsOf(class int) uint64 {
	if class < 8 {
		return uint64(class + 1)
	}
	s := uint(class-8) / 8
	return (uint64(class-8)%8 + 9) << s
}

// floorClass is the highest class whose blocks fit in n units, at least 1.
func floorClass(n uint64) int {
	if n <= 8 {
		return int(n - 1)
	}
	if n >= mostUnits {
		return classes - 1
	}
	s := bits.Len64(n) - 4
	return 8*s + int(n>>uint(s)) - 1
}
