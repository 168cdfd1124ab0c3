// Package histogram counts bytes with atomic additions.
package histogram

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

import "github.com/go-halyard/halyard/kernel/grid"

const bins = 256

// count adds to counts how often each byte is in data. Each block counts in shared memory first, which is faster than memory that all blocks
// change. A thread goes forward by the number of threads in the grid, so that the grid can be smaller than the data.
//
//halyard:kernel
func count(t grid.Thread, data []uint8, counts []uint32) {
	own := grid.Shared[[bins]uint32](t)
	for i := t.Global(0); i < len(data); i += t.Size(0) * t.Blocks(0) {
		grid.AtomicAdd(&own[data[i]], 1)
	}
	t.Barrier()
	for b := t.Local(0); b < bins; b += t.Size(0) {
		if own[b] != 0 {
			grid.AtomicAdd(&counts[b], own[b])
		}
	}
}
