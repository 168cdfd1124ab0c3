// Package buffer gives a program coherent typed buffers. A buffer is one sequence of elements, such as numbers, that the host and any
// number of devices read and write. The host and each device may have a copy in its own memory, called a replica. No access reads a stale
// element.
//
//	x, err := buffer.New[float32](1000)                        // zeros; From copies a slice
//	err = x.Update(ctx, func(s []float32) error { ... })       // on the host: reads and writes
//	err = x.Overwrite(ctx, func(s []float32) error { ... })    // writes every element, reads none
//	err = x.CopyIn(ctx, data)                                  // and CopyOut, Fill, At
//	part, err := x.Slice(100, 200)                             // a view of 100 elements
//	lease, err := part.TryAcquire(stream, coherence.ReadWrite) // on a device; Acquire may wait
//	err = stream.Fill(lease.Region(), pattern)                 // or a kernel: lease.Pointer()
//	err = lease.Release()                                      // later accesses wait for this point
//	err = x.View(ctx, func(s []float32) error { ... })         // waits, copies back, reads
//	fmt.Println(x.Len(), x.State().Name, x.Stats().BytesCopied)
//	err = hal.CloseAll(dev, stream, x)                         // the buffer before its device
//
// Package kernel launches kernels on buffers in one call, and acquires the leases itself.
//
// A [Buffer] knows, for every range of elements, which replicas are current. Each access says whether it reads, writes or overwrites its
// elements. The buffer then copies only the bytes that are stale at the access's place, ordered on streams by events. Elements that the
// access writes become stale at every other place.
//
// # Access on the host
//
// [Buffer.View], [Buffer.Update] and [Buffer.Overwrite] run a function on a slice of the buffer's host replica. The function must not
// keep the slice. The three methods wait for the work that they depend on and for conflicting accesses, until their context ends.
//
// # Access on a device
//
// [Buffer.TryAcquire] makes the elements current on the stream's device and returns a [Lease], which gives access to the memory. It enqueues
// the copies that are needed and does not wait for them. Where [Buffer.Acquire] waits (for other accesses, for work, or until evictions have
// freed memory), TryAcquire fails. If it has to allocate or evict, the driver's own calls may still block. [Lease.Release] marks the end of
// the program's own work on the stream. Until then a lease for reading admits other readers, and a lease for writing excludes all other
// accesses. [AcquireAll] acquires leases on several buffers together: it acquires none before it can acquire all, and two such calls cannot
// deadlock.
//
// # Ranges
//
// A [Buffer.Slice] is a view of part of a buffer. Everything that can be done with a buffer can be done with a slice, and affects only the
// slice's elements: no other elements are copied or become stale. Close and Evict are refused on a slice; Freeze and Unfreeze act on the
// whole buffer.
//
// A buffer or a slice may be empty, as Go's slices may. It is used like any other, and functions get an empty slice. Its lease has
// a region of length 0; [Lease.Pointer] is 0 for an empty buffer, and the address of its place for an empty slice of another.
// An access of no elements excludes no other access, copies nothing, and its elements count as current wherever the buffer has
// memory.
//
// [Buffer.AccessRanges] and [Buffer.AcquireRanges] take several ranges at once, such as the rows of a part of a
// matrix. [Reinterpret] shows the same bytes as elements of another type.
//
// # Memory
//
// A replica's memory comes from its device, or from an allocator of package hal/pool ([SetAllocator], [WithAllocator]). [SetBudget] limits
// the memory on a device: the least recently used replicas are then evicted to make room for others. [Adopt] makes a buffer of existing
// device memory, and [AdoptSlice] of a slice. [Buffer.Close] frees everything. A buffer that becomes unreachable without Close is reported
// to the handler of [hal.SetLeakHandler], and closed. A lease that is never released keeps its buffer, so such a buffer is not reported: it
// does not close ([ConflictError]), and neither does the device.
//
// # Errors of calls that wait
//
// If the context ends first, the error is of kind hal.ErrNotReady, and errors.Is finds the context's cause: context.Canceled, or another
// error if the program gave one to a context.CancelCauseFunc. If another access was in the way, errors.As finds the ConflictError that names
// it. An access waits for memory that launches and other calls of this module keep, in the order of arrival. No access waits for memory that
// leases of the program keep: if they leave too little on a device, it fails with kind hal.ErrOutOfMemory, and may succeed later. A server
// that takes leases itself should limit how many of its requests use a device's memory at the same time, or try again.
//
// # Other rules
//
// A new buffer reads as zeros at every place, and so does a buffer after [Buffer.Reset]. Elements that an access with
// coherence.Overwrite does not write have unspecified contents. Accesses that exclude each other are served first come,
// first served ([ConflictError]). So an access to elements inside another access to the same elements may wait until its context ends.
// If work fails, the accesses that would read the bytes that it wrote fail with its error. All methods of all types are safe for
// concurrent use. [Observe] reports what buffers do. The full rules about waits, failures and unified devices stand below the
// package clause of doc.go. The head of storage.go says how a buffer works.
package buffer

// The full rules. The scripts in testdata show, step by step, what an observer sees in each of these cases.
//
// # Who waits for whom
//
// Two accesses exclude each other if they share an element and one of them writes. Accesses are served first come,
// first served: an access also waits for an earlier one that excludes it and is itself still waiting. So a steady flow
// of readers does not block a writer for ever. But a nested access may wait for ever, as with sync.RWMutex: a View
// within a View of the same elements waits for an Update that came in between, and the Update waits for the outer View.
// A context ends such a wait. [Buffer.TryAcquire] and a few other calls fail at once instead of waiting; the error is
// a [ConflictError], which names both accesses.
//
// An access that finds no memory on a device, because of a budget, the limit of a pool or the device itself, evicts replicas that no access
// uses. If that is not enough, it waits for leases that end by themselves: those of a launch, a step, a copy, a fill or a collective
// operation, which the call releases before it returns. It does not wait for a lease that the program holds, because the goroutine that is to
// release it may be the one that waits. Who waits for whom:
//
//	an access that lacks memory        waits for
//	the first in line                  the calls whose leases keep memory of the device
//	a later one                        the one before it; it takes no memory, even if there is some
//	a part of a launch on several      the same calls as the first in line: it does not stand in line, because others wait for the leases that
//	devices                            the launch has on other devices
//	TryAcquire, Prefetch               nothing: it takes memory if there is some, and otherwise fails
//
// An access in line has no lease and no place before other accesses of its buffers: it begins again when memory may have come free. So a
// cycle consists of launches on several devices only. A call that finds one makes the newest call in it fail with hal.ErrOutOfMemory. If no
// lease that ends by itself keeps memory, the access fails at once, and so does a launch that needs more than there is. The context ends the
// wait. A call that waits for work, such as SyncTo, has its lease meanwhile: a gate that holds this work up must be opened by a goroutine that
// does not wait for the memory.
//
// # Failures
//
// Work may fail when it runs, long after the call that enqueued it. The buffer finds the failure before it shows the bytes on the host.
// All bytes that the work wrote are then bad at its place, whichever of them an access asks for. Bytes that are current at another place
// too are copied again from there; if an access finds the failure as it is about to read them, that access fails with the error of the
// work, and the next one succeeds. Bytes that are current nowhere else are lost until they are written again or reset: every access that
// reads them fails with an error of kind hal.ErrDeviceLost, in which errors.Is finds the error of the work.
//
// A failure travels along the waits. Work that reads bytes waits for the work that wrote them, and fails if that fails. So bytes are also
// lost if the work that wrote them had read bad bytes, or if they are copies of bad bytes. See the scripts copy-fails, kernel-fails and
// eviction-fails in testdata.
//
// # Unified devices
//
// A device that works on host memory in place (SharesHostMemory in [hal.Info]) shares the host's replica, and
// nothing is copied between them. The kind of the host's memory is chosen at the first access of a buffer: memory of the device, if that
// access is by such a device, else Go's. A replica in Go's memory that the device cannot use there moves to memory of the device at the
// device's first access, at most once ([Stats].BytesRelocated). That access first waits for the work that uses the replica, and TryAcquire
// fails with kind hal.ErrNotReady meanwhile. If an access of the host is open at that moment, the device gets a replica of its own.
//
// A device whose memory the host cannot access ([hal.Memory.HostPointer]) has a replica of its own, even if it is integrated with the host.
