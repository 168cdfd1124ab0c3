// Package pool keeps device memory that a program frees and gives it out again, which is faster than
// the device by two orders of magnitude and stops no work.
//
//	p, err := pool.New(dev, pool.Options{})
//	b, err := p.Alloc(stream, hal.KindDevice, 1<<20)
//	r, err := b.Region() // for copies, fills and launches
//	err = b.Free(stream) // while the stream still works
//
// # Order
//
// Allocation and freeing take part in the order of streams, without waiting and, mostly, without an event. A
// block that was freed on a stream is given out again on that stream at once: what uses it next runs after what
// used it last. It is given out on another stream when the work before Free has finished. Only when memory
// would run out otherwise does the pool give out memory that another stream still uses, and then it makes
// the new stream wait for that work; [Options.NoWait] forbids it. Work that uses a block on other streams
// than the one it is freed on is told with [Block.RecordUse] or [Block.KeepUntil].
//
// Correspondingly a new block belongs to its stream at first. Before another stream or the host touches a
// block that is [Block.Ordered], it waits for an event recorded on the stream after Alloc. A block allocated
// with a nil stream is nobody's, and can be used by all at once.
//
// The contents of a block are unspecified: mostly somebody else's last.
//
// # Sizes
//
// Small blocks are carved out of chunks that the pool takes from the device, and neighbours that are free merge
// again. Their sizes are rounded up to a class: a multiple of the alignment, with eight classes to each doubling
// from 8 alignments on. So a block occupies less than 1/8 more than it was asked for, or, below 8 alignments,
// less than one alignment more. From [Options.Large] on a block is a memory of its own, of exactly the size
// asked for, page-locked memory included; a free one is used again for sizes at most 1/8 below its own. On
// devices with CapStreamAlloc such blocks of device memory are allocated in the stream's order by
// the vendor.
//
// Where blocks cannot share a memory, every block is a memory of its own: where memory has no address that an
// offset could be added to (no CapAddress), and where the host maps memory as a whole.
//
// # Streams
//
// A pool remembers the streams that blocks are freed on, and keeps them reachable. Tell it before closing one
// ([Pool.ForgetStream]).
//
// # Allocators
//
// [Pool] is an [Allocator], and so is what [Pool.WithTag] returns. [Direct], [StreamOrdered] and [Callbacks]
// take the place of a pool. Package [github.com/go-halyard/halyard/hal/pool/adapt] wraps any of them with a limit,
// figures, a log and more.
//
// # Concurrency and cost
//
// Everything is safe for concurrent use. Alloc and Free of sizes that were freed before on the same stream take
// tens of nanoseconds together and allocate nothing on the Go heap, from one goroutine or many. No method waits for
// device work, but one that asks the device for memory takes as long as the device.
//
// A block that is used after Free, or freed twice, is refused with an error of kind hal.ErrClosed.
package pool
