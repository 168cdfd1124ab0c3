package main

import (
	"math"

	"github.com/go-halyard/halyard/kernel/grid"
)

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

// sorted is how many elements a block sorts, and sums adds up.
const sorted = 256

// sums adds up parts of x.
//
//halyard:kernel
func sums(t grid.Thread, x []float32, sums grid.Out[float32]) {
	sum := grid.BlockSum(t, x[t.Global(0)])
	if t.Local(0) == 0 {
		sums[t.Block(0)] = sum
	}
}

// softmax makes the exponentials of each row of x a row of y, divided by their sum. A block has one row.
//
//halyard:kernel
func softmax(t grid.Thread, x grid.Matrix[float32], y grid.OutMatrix[float32]) {
	row, most, sum := t.Block(0), float32(math.Inf(-1)), float32(0)
	for i := t.Local(0); i < x.Cols(); i += together {
		most = max(most, x.At(row, i))
	}
	most = grid.BlockMax(t, most)
	for i := t.Local(0); i < x.Cols(); i += together {
		sum += float32(math.Exp(float64(x.At(row, i) - most)))
	}
	sum = grid.BlockSum(t, sum)
	for i := t.Local(0); i < x.Cols(); i += together {
		y.Set(row, i, float32(math.Exp(float64(x.At(row, i)-most)))/sum)
	}
}

// bitonic sorts parts of x.
//
//halyard:kernel
func bitonic(t grid.Thread, x []float32, y grid.Out[float32]) {
	part := grid.Shared[[sorted]float32](t)
	me := t.Local(0)
	part[me] = x[t.Global(0)]
	for size := 2; size <= sorted; size *= 2 {
		for apart := size / 2; apart > 0; apart /= 2 {
			t.Barrier()
			if other := me ^ apart; other > me && (part[me] > part[other]) == (me&size == 0) {
				part[me], part[other] = part[other], part[me]
			}
		}
	}
	t.Barrier()
	y[t.Global(0)] = part[me]
}

// blockSums is what sums computes, as loops by hand.
func blockSums(x, sums []float32) {
	parallel(len(sums), func(first, last int) {
		var part [sorted]float32
		for b := first; b < last; b++ {
			copy(part[:], x[b*sorted:])
			for left := sorted / 2; left > 0; left /= 2 {
				for i := range left {
					part[i] = part[2*i] + part[2*i+1]
				}
			}
			sums[b] = part[0]
		}
	})
}

// bitonicSorts is what bitonic computes, as loops by hand.
func bitonicSorts(x, y []float32) {
	parallel(len(x)/sorted, func(first, last int) {
		for b := first; b < last; b++ {
			part := (*[sorted]float32)(y[b*sorted:])
			copy(part[:], x[b*sorted:])
			for size := 2; size <= sorted; size *= 2 {
				for apart := size / 2; apart > 0; apart /= 2 {
					for i := range sorted {
						if other := i ^ apart; other > i && (part[i] > part[other]) == (i&size == 0) {
							part[i], part[other] = part[other], part[i]
						}
					}
				}
			}
		}
	})
}
