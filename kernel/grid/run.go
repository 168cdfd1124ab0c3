package grid

import (
	"iter"

	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

// Threads returns an iterator over the threads of a block, one after the other, for a kernel without [Thread.Barrier] and [Shared]:
//
//	for t := range grid.Threads(b) {
//		saxpy(t, a, x, y)
//	}
//
// The compiler turns it into plain nested loops, into which it inlines a small kernel.
func Threads(b *kernel.Block) iter.Seq[Thread] {
	return func(yield func(Thread) bool) {
		in := &block{Block: b}
		first, end := gridgen.Starts(b, 0), gridgen.Ends(b, 0)
		for z, endZ := gridgen.Starts(b, 2), gridgen.Ends(b, 2); z < endZ; z++ {
			for y, endY := gridgen.Starts(b, 1), gridgen.Ends(b, 1); y < endY; y++ {
				for x := first; x < end; x++ {
					if !yield(Thread{x, y, z, in}) {
						return
					}
				}
			}
		}
	}
}
