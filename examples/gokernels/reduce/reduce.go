// Package reduce has a sum and a scan, which blocks of threads compute together.
package reduce

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

import "github.com/go-halyard/halyard/kernel/grid"

const block = 256 // threads of a block

// sum writes the sum of each block's elements of x. It wraps around.
//
//halyard:kernel
func sum(t grid.Thread, x []uint32, sums grid.Out[uint32]) {
	part := grid.Shared[[block]uint32](t)
	me := t.Local(0)
	if i := t.Global(0); i < len(x) {
		part[me] = x[i]
	}
	for half := block / 2; half > 0; half /= 2 {
		t.Barrier()
		if me < half {
			part[me] += part[me+half]
		}
	}
	if me == 0 {
		sums[t.Block(0)] = part[0]
	}
}

// scan writes for each element of x the sum of its block's elements up to this one, and the sum of each block.
//
//halyard:kernel
func scan(t grid.Thread, x []uint32, upTo, sums grid.Out[uint32]) {
	part := grid.Shared[[block]uint32](t)
	me, i := t.Local(0), t.Global(0)
	if i < len(x) {
		part[me] = x[i]
	}
	t.Barrier()
	for step := 1; step < block; step *= 2 {
		before := uint32(0)
		if me >= step {
			before = part[me-step]
		}
		t.Barrier() // all have read
		part[me] += before
		t.Barrier() // all have written
	}
	if i < len(x) {
		upTo[i] = part[me]
	}
	if me == 0 {
		sums[t.Block(0)] = part[block-1]
	}
}

// shift adds to the elements of each block the sum of all blocks before it.
//
//halyard:kernel
func shift(t grid.Thread, x, upTo []uint32) {
	if i := t.Global(0); i < len(x) && t.Block(0) > 0 {
		x[i] += upTo[t.Block(0)-1]
	}
}
