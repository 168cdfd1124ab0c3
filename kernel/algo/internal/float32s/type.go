// Package float32s has the kernels of package algo for float32.
package float32s

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

import "math"

// T is the type of the elements.
type T = float32

func isNaN(v T) bool { return v != v }

// order returns a number that is ordered as the keys are: -0 before 0, and a NaN at the end that its sign says.
func order(key T) uint32 {
	b := math.Float32bits(key)
	if b>>31 != 0 {
		return ^b
	}
	return b | 1<<31
}
