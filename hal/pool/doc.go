// Package pool keeps device memory that a program frees and gives it out again. That is a hundred times as fast as
// allocating from the device, and holds up no work.
//
//	p, err := pool.New(dev)
//	b, err := p.Alloc(stream, hal.KindDevice, 1<<20)
//	r, err := b.Region() // for copies, fills and launches
//	err = b.Free(stream) // while the stream still works
//
// # Order
//
// Alloc and Free have a place in the order of a stream's work. They do not wait and mostly need no event. A
// block that was freed on a stream can be given out again on that stream at once: its next use runs after its last
// one. It is given out on another stream when the work before Free has finished. If memory would run out
// otherwise, the pool gives out memory that another stream still uses, and makes the new stream wait for that
// work; [WithoutWaits] forbids it. If work uses a block on other streams than the one it is freed on, tell the
// pool with [Block.RecordUse] or [Block.KeepUntil].
//
// In the same way a new block is at first for the stream that it was allocated on. If it is [Block.Ordered], another stream
// or the host must wait for an event recorded on that stream after Alloc before using it. All streams and the host can use
// a block allocated with a nil stream at once.
//
// The contents of a block are unspecified; mostly they are what an earlier block left.
//
// # Sizes
//
// Small blocks are carved out of chunks that the pool takes from the device, and neighbours that are free merge
// again. Their sizes are rounded up to a class: a multiple of the alignment, with eight classes to each doubling
// from 8 alignments on. So the size of a block is rounded up by less than 1/8 or, below 8 alignments, by
// less than one alignment. A block of at least the size of [WithLarge] is a memory of its own, of exactly the size
// asked for; so is page-locked memory of that size. When such a block is free, it is reused for sizes at most 1/8
// below its own. On devices with CapStreamAlloc the driver allocates such blocks of device memory in stream order.
//
// If memory has no address that an offset could be added to (no CapAddress), every block is a memory of its own.
//
// # Streams
//
// A pool remembers the streams that blocks are freed on, and keeps them reachable. Call [Pool.ForgetStream] before
// closing one.
//
// # Allocators
//
// [Pool] is an [Allocator], and so is what [Direct] returns. A type of the program's own that wraps one has the same two methods;
// [Block.From] says how.
//
// # Concurrency and cost
//
// Everything is safe for concurrent use. Alloc and Free of sizes that were freed before on the same stream take
// tens of nanoseconds together and allocate nothing on the Go heap, with one goroutine or many. No method waits for
// device work; but a call that asks the device for memory takes as long as the device does.
//
// A block that is used after Free, or freed twice, is refused with an error of kind hal.ErrClosed.
package pool
