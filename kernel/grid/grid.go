// Package grid has the words in which kernels are written in Go:
//
//	// saxpy computes y = a*x + y.
//	//
//	//halyard:kernel
//	func saxpy(t grid.Thread, a float32, x, y []float32) {
//		if i := t.Global(0); i < len(y) {
//			y[i] += float32(a * x[i])
//		}
//	}
//
// A thread is one run of the kernel. Threads are in blocks of the same size, and the blocks of one launch are its grid. The conversion
// float32(a * x[i]) rounds the product, as devices do. Without it Go may compute product and sum by one instruction, which rounds only once.
//
// A grid of 10 elements with blocks of 4 threads has 3 blocks. The last one reaches beyond the end, so a kernel compares its index:
//
//	t.Block(0)     0               1               2
//	t.Local(0)     0   1   2   3   0   1   2   3   0   1   2   3
//	t.Global(0)    0   1   2   3   4   5   6   7   8   9   10  11
//	i < len(y)     yes yes yes yes yes yes yes yes yes yes no  no
//
// Kernels use [Thread] and its methods, [Shared], [SharedSlice], [LoadTile], [StoreTile], [FMA], [Println], the functions whose names begin with Atomic, [Out], [Matrix] and [OutMatrix]. The other
// names are for files that "halyard kernels" writes.
//
// On the host a copy of the function runs, once for each thread of a grid. For devices `halyard kernels` translates it into C and SPIR-V, and writes a
// function that launches either.
//
// If a kernel calls [Thread.Barrier], the code between two barriers runs as a loop over the threads of a block. With the race detector the
// threads are goroutines, so that the detector sees their races.
package grid

import "github.com/go-halyard/halyard/kernel"

// Thread is one thread of a grid, the first parameter of every kernel. Its methods take a dimension, a constant 0, 1 or 2, and panic if it
// is another number.
type Thread struct {
	x, y, z int // its place in the grid
	in      *block
}

// block is what a thread knows about its block.
type block struct {
	*kernel.Block
	own *member // nil unless RunTogether runs the block
}

const dimension = "grid: a dimension is 0, 1 or 2"

// Global returns the thread's place in the grid along a dimension: from 0 up to Blocks(dim)*Size(dim)-1.
func (t Thread) Global(dim int) int {
	switch dim {
	case 0:
		return t.x
	case 1:
		return t.y
	case 2:
		return t.z
	}
	panic(dimension)
}

// Local returns the thread's place in its block: from 0 up to Size(dim)-1.
func (t Thread) Local(dim int) int { return t.Global(dim) - t.Block(dim)*t.Size(dim) }

// Block returns the place of the thread's block in the grid of blocks: from 0 up to Blocks(dim)-1.
func (t Thread) Block(dim int) int { return int(t.in.Index[dim]) }

// Size returns how many threads a block has.
func (t Thread) Size(dim int) int { return int(t.in.Block.Size[dim]) }

// Blocks returns how many blocks the grid has.
func (t Thread) Blocks(dim int) int { return int(t.in.Grid[dim]) }

// Out is the type of a kernel's parameter for elements that the kernel writes, all of them, and does not read. So what the buffer held
// before is not copied to the device.
type Out[T any] []T
