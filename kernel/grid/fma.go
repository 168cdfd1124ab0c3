package grid

import (
	"math"
	"unsafe"
)

// FMA returns x*y + z, rounded once, with the same bits on every device: for float64 it is math.FMA. Where a device's own operation rounds
// more than once, the kernel computes it with integers. A chain of them, as sum = grid.FMA(a[i], b[i], sum), is faster than
// sum += float32(a[i] * b[i]), which rounds twice in each step.
func FMA[T float32 | float64](x, y, z T) T {
	if unsafe.Sizeof(x) == 8 {
		return T(math.FMA(float64(x), float64(y), float64(z)))
	}
	p := float64(x) * float64(y) // exact
	s := p + float64(z)
	r := s - p
	// lost is the error of s. An inexact s is rounded to odd, so that the conversion to float32 rounds as that of the exact sum.
	if lost := (p - (s - r)) + (float64(z) - r); (lost > 0 || lost < 0) && math.Float64bits(s)&1 == 0 {
		if (lost > 0) == (s > 0) {
			s = math.Float64frombits(math.Float64bits(s) + 1)
		} else {
			s = math.Float64frombits(math.Float64bits(s) - 1)
		}
	}
	return T(s)
}
