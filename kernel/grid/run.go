package grid

import (
	"iter"

	"github.com/go-halyard/halyard/kernel"
)

// Run calls f for each thread of a block, one after the other. A kernel that calls [Thread.Barrier] or [Shared] needs [RunTogether].
func Run(b *kernel.Block, f func(Thread)) {
	for t := range Threads(b) {
		f(t)
	}
}

// Threads are the threads of a block, one after the other, for a kernel without [Thread.Barrier] and [Shared]:
//
//	for t := range grid.Threads(b) {
//		saxpy(t, a, x, y)
//	}
//
// It does what [Run] does, and the compiler makes a plain loop of it, with a small kernel's code as its body.
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

// starts returns the place in the grid of a block's first thread. The mask changes nothing, and tells the compiler that places are not
// negative.
func starts(b *kernel.Block, dim int) int {
	return int(uint64(b.Index[dim])*uint64(b.Size[dim])) & (1<<62 - 1)
}

// ends returns the place after that of a block's last thread.
func ends(b *kernel.Block, dim int) int { return starts(b, dim) + int(b.Size[dim]) }
