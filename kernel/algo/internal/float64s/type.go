// Package float64s has the kernels of package algo for float64.
package float64s

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

import "math"

// T is the type of the elements.
type T = float64

func isNaN(v T) bool { return v != v }

// order returns a number that is ordered as the keys are: -0 before 0, and a NaN at the end that its sign says.
func order(key T) uint64 {
	b := math.Float64bits(key)
	if b>>63 != 0 {
		return ^b
	}
	return b | 1<<63
}
