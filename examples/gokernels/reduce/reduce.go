// Package reduce has a sum and a scan, which blocks of threads compute together.
package reduce

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

import "github.com/go-halyard/halyard/kernel/grid"

// sum writes the sum of each block's elements of x. It wraps around.
//
//halyard:kernel
func sum(t grid.Thread, x []uint32, sums grid.Out[uint32]) {
	v := uint32(0)
	if i := t.Global(0); i < len(x) {
		v = x[i]
	}
	all := grid.BlockSum(t, v)
	if t.Local(0) == 0 {
		sums[t.Block(0)] = all
	}
}

// scan writes for each element of x the sum of its block's elements up to this one, and the sum of each block.
//
//halyard:kernel
func scan(t grid.Thread, x []uint32, upTo, sums grid.Out[uint32]) {
	i, v := t.Global(0), uint32(0)
	if i < len(x) {
		v = x[i]
	}
	v = grid.BlockScan(t, v)
	if i < len(x) {
		upTo[i] = v
	}
	if t.Local(0) == t.Size(0)-1 {
		sums[t.Block(0)] = v
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
