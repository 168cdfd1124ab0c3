// Package histograms has the kernels with which package algo counts.
package histograms

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

import "github.com/go-halyard/halyard/kernel/grid"

const (
	threads = 256 // of a block
	chunk   = 32 * threads
	bins    = 1024 // that a block counts in its own memory
)

//halyard:kernel
func zero(t grid.Thread, counts grid.Out[uint32]) {
	if i := t.Global(0); i < len(counts) {
		counts[i] = 0
	}
}

// uint8s counts a chunk of x: in the block's own memory if there are few bins, since other blocks would wait for the same elements.
//
//halyard:kernel
func uint8s(t grid.Thread, x []uint8, counts []uint32) {
	own := grid.Shared[[bins]uint32](t)
	me, from := t.Local(0), t.Block(0)*chunk
	for i := from + me; i < min(from+chunk, len(x)); i += threads {
		count(int(x[i]), own, counts)
	}
	t.Barrier()
	for i := me; i < min(bins, len(counts)); i += threads {
		add(own[i], i, counts)
	}
}

// int32s is like uint8s.
//
//halyard:kernel
func int32s(t grid.Thread, x []int32, counts []uint32) {
	own := grid.Shared[[bins]uint32](t)
	me, from := t.Local(0), t.Block(0)*chunk
	for i := from + me; i < min(from+chunk, len(x)); i += threads {
		count(int(x[i]), own, counts)
	}
	t.Barrier()
	for i := me; i < min(bins, len(counts)); i += threads {
		add(own[i], i, counts)
	}
}

// uint32s is like uint8s.
//
//halyard:kernel
func uint32s(t grid.Thread, x []uint32, counts []uint32) {
	own := grid.Shared[[bins]uint32](t)
	me, from := t.Local(0), t.Block(0)*chunk
	for i := from + me; i < min(from+chunk, len(x)); i += threads {
		count(int(x[i]), own, counts)
	}
	t.Barrier()
	for i := me; i < min(bins, len(counts)); i += threads {
		add(own[i], i, counts)
	}
}

func count(v int, own *[bins]uint32, counts []uint32) {
	switch {
	case v < 0 || v >= len(counts):
	case len(counts) <= bins:
		grid.AtomicAdd(&own[v], 1)
	default:
		grid.AtomicAdd(&counts[v], 1)
	}
}

func add(n uint32, i int, counts []uint32) {
	if n > 0 {
		grid.AtomicAdd(&counts[i], n)
	}
}
