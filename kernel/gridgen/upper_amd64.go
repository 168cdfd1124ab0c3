//go:build go1.27 && goexperiment.simd

package gridgen

import "simd/archsimd"

var hasAVX = archsimd.X86.AVX()

// clearUpper clears the upper halves of the vector registers. In programs with package simd, vectors leave them set, and so does Go 1.27's
// runtime when it goes on with a goroutine that it has interrupted. Scalar code on floats is then slower: on some processors math.Exp takes
// tens of times as long, on others an eighth longer.
func clearUpper() {
	if hasAVX {
		archsimd.ClearAVXUpperBits()
	}
}
