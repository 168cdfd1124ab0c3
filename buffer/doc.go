// Package buffer gives a program coherent typed buffers: one slice of numbers that the host and
// any number of devices read and write, each in its own memory where it must be, and that nobody
// ever sees stale.
//
// A [Buffer] keeps up to one replica per place: the host and each device that has used it. It knows,
// for every range of elements, which replicas are current. An access names what it is going to do;
// the buffer then moves the bytes that are missing at that place, and only those, ordered on streams
// by events, and afterwards the replicas that the access made old are known to be old.
//
//	x, err := buffer.From(data)
//	err = x.Update(ctx, func(s []float32) error { ... })   // on the host
//	lease, err := x.Acquire(stream, coherence.ReadWrite)   // on a device; does not wait
//	launch(kernel, lease.Pointer(), stream.Handle())
//	err = lease.Release()
//	err = x.View(ctx, func(s []float32) error { ... })     // waits, copies back, reads
//
// # Access on the host
//
// [Buffer.View], [Buffer.Update] and [Buffer.Overwrite] run a function on a slice that is the
// buffer's host replica. The slice must not be kept. They wait for the work that they depend on and
// for conflicting accesses, and honour their context.
//
// # Access on a device
//
// [Buffer.Acquire] makes the elements current on the stream's device and returns a [Lease], through
// which the program reaches the memory. It enqueues and does not wait. [Lease.Release] marks the end
// of the program's own work on the stream. Between the two, other accesses share with a reading lease,
// and a writing one excludes them.
//
// # Ranges
//
// A [Buffer.Slice] is a view of part of a buffer. Everything that can be done with a buffer can be done
// with a slice, and concerns the slice's elements alone: they are what is copied and what becomes
// old elsewhere. Accesses to ranges that do not overlap do not exclude each other.
//
// [Buffer.AccessRanges] and [Buffer.AcquireRanges] take several ranges at once, such as the rows of a part of a
// matrix. [Reinterpret] shows the same bytes as elements of another type.
//
// # Memory
//
// A replica's memory comes from its device, or from an allocator of package hal/pool ([SetAllocator], [Allocator]), and
// [SetBudget] limits it. [Adopt] makes a buffer of device memory that exists already, [AdoptSlice] of a slice.
//
// # Contents
//
// A new buffer reads as zeros, everywhere. What a lease or an Overwrite was taken to write, and then
// did not, has unspecified contents.
//
// # Failures
//
// A copy may fail when it runs, long after the call that enqueued it. The next access of the elements then fails, once, with
// the copy's error; where they came from they are still current, and the access after that copies them anew. What was
// copied on from the destination in the meantime does not count as current either. Elements that were changed on bytes
// which then turn out never to have arrived are lost, as are those that failed work of the program's wrote: accesses that
// would read them fail, with kind hal.ErrDeviceLost, until they are written anew or discarded.
//
// # Unified devices
//
// A device that works on host memory in place ([hal.Device.Unified]) shares the host's replica, and
// nothing is copied between them. Where the host may only touch such memory while it is mapped
// ([hal.Memory.NeedsMap]), host and device take turns with the whole of a buffer: an access by one that
// writes waits for every access by the other, whatever their ranges.
//
// # Concurrency
//
// All methods of all types are safe for concurrent use.
package buffer
