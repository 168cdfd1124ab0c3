package main

import "github.com/go-halyard/halyard/kernel/grid"

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

// sorted is how many elements a block sorts, and treeSum adds up.
const sorted = 256

// treeSum adds up parts of x, each as a tree.
//
//halyard:kernel
func treeSum(t grid.Thread, x []float32, sums grid.Out[float32]) {
	part := grid.Shared[[sorted]float32](t)
	me := t.Local(0)
	part[me] = x[t.Global(0)]
	for half := sorted / 2; half > 0; half /= 2 {
		t.Barrier()
		if me < half {
			part[me] += part[me+half]
		}
	}
	if me == 0 {
		sums[t.Block(0)] = part[0]
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

// treeSums is what treeSum computes, as loops by hand.
func treeSums(x, sums []float32) {
	parallel(len(sums), func(first, last int) {
		var part [sorted]float32
		for b := first; b < last; b++ {
			copy(part[:], x[b*sorted:])
			for half := sorted / 2; half > 0; half /= 2 {
				for i := range half {
					part[i] += part[i+half]
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
