//go:build go1.27 && goexperiment.simd

package grid

import "simd/archsimd"

var hasAVX = archsimd.X86.AVX()

// clearUpper clears the upper halves of the vector registers. In programs with package simd, vectors leave them set, and so does Go 1.27's
// runtime when it goes on with a goroutine that it has interrupted. Scalar code on floats then takes an eighth longer on AMD's processors.
func clearUpper() {
	if hasAVX {
		archsimd.ClearAVXUpperBits()
	}
}
