// Package generic has generic kernels for tests.
package generic

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

import (
	"math"

	"github.com/go-halyard/halyard/kernel/grid"
)

// Level is a named number.
type Level int32

// Real are the types of the kernels of this package.
type Real interface {
	~int32 | float32 | float64 | uint64
}

// bits returns bits of a number that are ordered as the numbers are.
func bits[T Real](v T) uint64 {
	switch v := any(v).(type) {
	case float32:
		return uint64(math.Float32bits(v))
	case float64:
		return math.Float64bits(v)
	case uint64:
		return v
	default:
		return 7
	}
}

// scale has a row for each type.
//
//halyard:kernel float32 Level float64 uint64
func scale[T Real](t grid.Thread, a T, x []T, y grid.Out[T], b grid.Out[uint64]) {
	i := t.Global(0)
	if i < len(y) {
		y[i] = a*x[i] + T(1)
		b[i] = bits(x[i])
	}
}

// total sums blocks, with barriers; running keeps a value over one.
//
//halyard:kernel float32 Level float64 uint64
func total[T Real](t grid.Thread, x []T, sums grid.Out[T]) {
	part := grid.Shared[[64]T](t)
	me := t.Local(0)
	own := x[t.Global(0)] * 2
	part[me] = x[t.Global(0)]
	for half := 32; half > 0; half /= 2 {
		t.Barrier()
		if me < half {
			part[me] += part[me+half]
		}
	}
	t.Barrier()
	sums[t.Global(0)] = part[0] + own
}

// convert has two type parameters.
//
//halyard:kernel float32,Level Level,float64
func convert[A, B Real](t grid.Thread, x []A, y grid.Out[B]) {
	if i := t.Global(0); i < len(y) {
		y[i] = B(x[i])
	}
}

// Pair is no number.
type Pair struct{ A, B float32 }

// fill passes a value of any type.
//
//halyard:kernel float32 Pair
func fill[T any](t grid.Thread, v T, y grid.Out[T]) {
	if i := t.Global(0); i < len(y) {
		y[i] = v
	}
}
