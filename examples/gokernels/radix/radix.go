// Package radix has one step of a radix sort: it sorts keys by four of their bits. Keys with the same four bits keep their order, so eight steps
// sort numbers of 32 bits.
package radix

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

import "github.com/go-halyard/halyard/kernel/grid"

const (
	block  = 256 // threads of a block
	digits = 16
)

// count writes how many keys of each block have each digit: all counts of digit 0, then those of digit 1, and so on.
//
//halyard:kernel
func count(t grid.Thread, shift uint32, keys []uint32, counts grid.Out[uint32]) {
	own := grid.Shared[[digits]uint32](t)
	if i := t.Global(0); i < len(keys) {
		grid.AtomicAdd(&own[keys[i]>>shift&(digits-1)], 1)
	}
	t.Barrier()
	if d := t.Local(0); d < digits {
		counts[d*t.Blocks(0)+t.Block(0)] = own[d]
	}
}

// starts makes each count the sum of those before it. It runs as one block, and each of its threads takes a piece.
//
//halyard:kernel
func starts(t grid.Thread, counts []uint32) {
	me, piece := t.Local(0), (len(counts)+block-1)/block
	from, to := min(me*piece, len(counts)), min((me+1)*piece, len(counts))
	sum := uint32(0)
	for i := from; i < to; i++ {
		sum += counts[i]
	}
	before := grid.BlockExclusiveScan(t, sum)
	for i := from; i < to; i++ {
		next := counts[i]
		counts[i] = before
		before += next
	}
}

// scatter writes each key to its place among the keys of all blocks: after those with its digit in earlier blocks and in earlier threads of its block.
//
//halyard:kernel
func scatter(t grid.Thread, shift uint32, keys, starts []uint32, sorted grid.Out[uint32]) {
	own := grid.Shared[[block]uint32](t)
	i, me := t.Global(0), t.Local(0)
	digit := uint32(digits) // none
	if i < len(keys) {
		digit = keys[i] >> shift & (digits - 1)
	}
	own[me] = digit
	t.Barrier()
	if i < len(keys) {
		at := starts[int(digit)*t.Blocks(0)+t.Block(0)]
		for before := 0; before < me; before++ {
			if own[before] == digit {
				at++
			}
		}
		sorted[at] = keys[i]
	}
}
