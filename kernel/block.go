package kernel

import (
	"fmt"
	"unsafe"

	"github.com/go-halyard/halyard/hal"
)

// Block is one block of a launch of a Go function: its Index in the Grid of blocks, and the Size of a block in threads, each a [3]uint32 by
// dimension. [SharedSlice] returns the memory that its threads share. Memory that a kernel in C declares with LOCAL becomes a local
// variable of the function, and a variable that each thread keeps across a barrier becomes an array with an element for each thread.
//
// The function is called once for each block, and several calls may run at the same time. It runs the threads of its block itself, usually
// as a loop:
//
//	func saxpy(b *kernel.Block) {
//		a, x, y := kernel.Number[float32](b, 0), kernel.Slice[float32](b, 1), kernel.Slice[float32](b, 2)
//		from, to := kernel.Threads(b, 0, len(y))
//		for i := from; i < to; i++ {
//			y[i] += a * x[i]
//		}
//	}
//
// If it panics, the launch fails: the error names the kernel and the block, and what the kernel was to write is lost.
type Block = hal.Block

// Go makes a kernel of a Go function. On the host an argument is checked when the function asks for it, by [Slice] or [Number]: arguments
// that it does not ask for may be wrong, missing or too many without an error. All other devices check every argument.
func Go(run func(*Block)) hal.Function { return hal.Function{Run: run} }

// Threads returns the range [from, to) of the block's threads in dimension d, as indexes in the grid. Threads with an index of n or more
// are left out.
func Threads(b *Block, d, n int) (from, to int) {
	size := uint64(b.Size[d])
	first := uint64(b.Index[d]) * size
	limit := uint64(max(n, 0))
	return int(min(first, limit)), int(min(first+size, limit))
}

// Slice returns the elements of argument i, which was passed with [In], [InOut] or [Out]. It panics if the argument is something else.
func Slice[T any](b *Block, i int) []T {
	var zero T
	size := unsafe.Sizeof(zero)
	switch {
	case i < 0 || i >= len(b.Args):
		panic(fmt.Sprintf("there is no argument %d; the launch has %d", i, len(b.Args)))
	case b.Args[i].Kind != hal.ParamPointer:
		panic(fmt.Sprintf("argument %d is a %v, not a buffer", i, b.Args[i].Kind))
	case size == 0 || uintptr(len(b.Bytes[i]))%size != 0:
		panic(fmt.Sprintf("argument %d has %d bytes, not a multiple of the size of %T", i, len(b.Bytes[i]), zero))
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b.Bytes[i]))), uintptr(len(b.Bytes[i]))/size)
}

// Number returns argument i, which was passed with [Value] or [Struct] as a value of the same size. It panics if the argument is something
// else.
func Number[T any](b *Block, i int) T {
	var zero T
	switch {
	case i < 0 || i >= len(b.Args):
		panic(fmt.Sprintf("there is no argument %d; the launch has %d", i, len(b.Args)))
	case b.Args[i].Kind != hal.ParamValue || uintptr(b.Args[i].Size) != unsafe.Sizeof(zero):
		panic(fmt.Sprintf("argument %d is a %v of %d bytes, not a %T", i, b.Args[i].Kind, b.Args[i].Size, zero))
	}
	return *(*T)(b.Args[i].Value())
}

// SharedSlice returns the block's shared memory ([Shared]) as elements. It is not cleared.
func SharedSlice[T any](b *Block) []T {
	var zero T
	if unsafe.Sizeof(zero) == 0 {
		panic(fmt.Sprintf("%T has no size", zero))
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b.Shared))), uintptr(len(b.Shared))/unsafe.Sizeof(zero))
}
