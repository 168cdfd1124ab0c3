package grid

import (
	"iter"
	"math"

	"github.com/go-halyard/halyard/kernel"
)

// Run calls f for each thread of a block, one after the other. A kernel that calls [Thread.Barrier] or [Shared] needs [RunTogether].
func Run(b *kernel.Block, f func(Thread)) {
	for t := range Threads(b) {
		f(t)
	}
}

// Threads returns an iterator over the threads of a block, one after the other, for a kernel without [Thread.Barrier] and [Shared]:
//
//	for t := range grid.Threads(b) {
//		saxpy(t, a, x, y)
//	}
//
// The loop does what [Run] does. The compiler turns it into plain nested loops, into which it inlines a small kernel.
func Threads(b *kernel.Block) iter.Seq[Thread] {
	return func(yield func(Thread) bool) {
		in := &block{Block: b}
		first, end := starts(b, 0), ends(b, 0)
		for z, endZ := starts(b, 2), ends(b, 2); z < endZ; z++ {
			for y, endY := starts(b, 1), ends(b, 1); y < endY; y++ {
				for x := first; x < end; x++ {
					if !yield(Thread{x, y, z, in}) {
						return
					}
				}
			}
		}
	}
}

// starts returns the place of a block's first thread in the grid, along one dimension. No place reaches math.MaxInt>>1, so the mask changes
// nothing; it tells the compiler that places are not negative.
func starts(b *kernel.Block, dim int) int {
	return int(uint64(b.Index[dim])*uint64(b.Size[dim])) & (math.MaxInt >> 1)
}

// ends returns the place after a block's last thread.
func ends(b *kernel.Block, dim int) int { return starts(b, dim) + int(b.Size[dim]) }
