// Package buffer gives a program coherent typed buffers. A buffer is one sequence of numbers that the host and any number of devices read and
// write. Each of them may have a copy in its own memory, a replica, and none ever reads a stale element.
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
// Package kernel launches kernels on buffers in one call, and takes the leases by itself.
//
// A [Buffer] knows, for every range of elements, which replicas are current. An access names what it is going to do. The buffer then copies
// the bytes that are stale at that place, and only those, ordered on streams by events. What the access is to write becomes stale at every
// other place.
//
// # Access on the host
//
// [Buffer.View], [Buffer.Update] and [Buffer.Overwrite] run a function on a slice that is the buffer's host replica, and must not be kept. They
// wait for the work that they depend on and for conflicting accesses, until their context ends.
//
// # Access on a device
//
// [Buffer.TryAcquire] makes the elements current on the stream's device and returns a [Lease], through
// which the program reaches the memory. It enqueues what is needed and does not wait for it, unless it needs memory that
// others have to give back first ([SetBudget]).
// [Lease.Release] marks the end of the program's own work on the stream. Until then a lease for reading
// admits other readers, and a lease for writing excludes all other accesses. [AcquireAll] takes leases on several buffers together: nothing is
// acquired before all can be, and two such calls cannot deadlock.
//
// # Ranges
//
// A [Buffer.Slice] is a view of part of a buffer. Everything that can be done with a buffer can be done
// with a slice, and concerns the slice's elements alone: no others are copied, and no others become
// stale elsewhere. Only Close, Evict and Freeze concern the whole buffer.
//
// [Buffer.AccessRanges] and [Buffer.AcquireRanges] take several ranges at once, such as the rows of a part of a
// matrix. [Reinterpret] shows the same bytes as elements of another type.
//
// # Memory
//
// A replica's memory comes from its device, or from an allocator of package hal/pool ([SetAllocator], [WithAllocator]).
// [SetBudget] limits it: the least recently used replicas are then evicted to make room for others. [Adopt] makes a buffer of device
// memory that exists already, [AdoptSlice] of a slice. [Buffer.Close] frees everything. A buffer that becomes
// unreachable without Close is reported to [hal.SetLeakHandler], and closed.
//
// # What else to know
//
// A new buffer reads as zeros at every place, and so does one after [Buffer.Reset]. Elements that an access with
// coherence.Overwrite was to write, and did not, have unspecified contents. Accesses that exclude each other are served first come,
// first served ([ConflictError]); one inside another, to the same elements, may therefore wait until its context ends. If work
// fails, the accesses that would have read what it wrote fail with its error. All methods of all types are safe for concurrent
// use. [Observe] shows what buffers do. The rules in full, about turns, failures and unified devices, stand below the package clause
// of doc.go.
package buffer

// The rules in full. The scripts in testdata tell, step by step, what an observer sees in each of these cases.
//
// # Who waits for whom
//
// Two accesses exclude each other if they share an element and one of them writes. Accesses are served first come,
// first served: an access also waits for an earlier one that excludes it and is itself still waiting. So a steady flow
// of readers does not keep a writer waiting. But a nested access may wait for ever, as with sync.RWMutex: a View
// within a View of the same elements waits behind an Update that came in between, which waits for the outer View.
// A context ends such a wait. [Buffer.TryAcquire] and a few others fail at once in place of waiting; the error is
// a [ConflictError], which names both sides.
//
// # Failures
//
// Work may fail when it runs, long after the call that enqueued it. The buffer finds out before it shows the bytes on
// the host. Bytes that are current at another place too are copied again from there, and one access is told: the next that
// reads the bytes fails with the error of the work, and the access after that succeeds. Bytes that are current nowhere else are lost
// until they are written anew or reset: every access that reads them fails, with an error of kind hal.ErrDeviceLost
// that says so. Bytes are lost, too, if the work that wrote them had read bytes which never arrived, and so
// are copies of lost bytes. See the scripts copy-fails, kernel-fails and eviction-fails in testdata.
//
// # Unified devices
//
// A device that works on host memory in place (SharesHostMemory in [hal.Info]) shares the host's replica, and
// nothing is copied between them. Where the host may only touch such memory while it is mapped
// ([hal.Memory.NeedsMap]), host and device take turns with the whole of a buffer: an access by one that
// writes waits for every access by the other, whatever their ranges. Host accesses to ranges that do not overlap
// run at the same time there too, with one exception: a host access that writes waits for the host accesses that began
// while the device was reading the memory.
