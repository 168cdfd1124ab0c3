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
//	lease, err := x.TryAcquire(stream, coherence.ReadWrite)   // on a device; does not wait
//	launch(kernel, lease.Pointer(), stream.Handle())
//	err = lease.Release()
//	err = x.View(ctx, func(s []float32) error { ... })     // waits, copies back, reads
//
// # Access on the host
//
// [Buffer.View], [Buffer.Update] and [Buffer.Overwrite] run a function on a slice that is the
// buffer's host replica. The slice must not be kept. They wait for the work that they depend on and
// for conflicting accesses, until their context ends. [Buffer.CopyIn] and [Buffer.CopyOut] copy all elements from and to a slice of
// the program's own.
//
// # Access on a device
//
// [Buffer.TryAcquire] makes the elements current on the stream's device and returns a [Lease], through
// which the program reaches the memory. It enqueues what is needed and does not wait for it, unless it needs memory that
// others have to give back first ([SetBudget]).
// [Lease.Release] marks the end of the program's own work on the stream. Between the two, other accesses
// share with a reading lease, and a writing one excludes them.
//
// [AcquireAll] takes leases on all buffers of one piece of work together: nothing is acquired before all
// can be, and two such calls cannot deadlock, whatever the order of their arguments.
//
// # Ranges
//
// A [Buffer.Slice] is a view of part of a buffer. Everything that can be done with a buffer can be done
// with a slice, and concerns the slice's elements alone: they are what is copied and what becomes
// old elsewhere. Only Close, Evict and Freeze concern the whole buffer.
//
// [Buffer.AccessRanges] and [Buffer.AcquireRanges] take several ranges at once, such as the rows of a part of a
// matrix. [Reinterpret] shows the same bytes as elements of another type.
//
// # Memory
//
// A replica's memory comes from its device, or from an allocator of package hal/pool ([SetAllocator], [WithAllocator]), and
// [SetBudget] limits it: replicas that were not used lately then make room for others. [Adopt] makes a buffer of device
// memory that exists already, [AdoptSlice] of a slice. [Buffer.Close] gives everything back; a buffer that becomes
// unreachable without it is reported, to [hal.SetLeakHandler], and given back.
//
// # What else to know
//
// A new buffer reads as zeros, everywhere, and so does one after [Buffer.Reset]. What a lease or an Overwrite was taken
// to write, and then did not, has unspecified contents. Accesses that exclude each other are served first come, first served
// ([ConflictError]), so that one within another, to the same elements, may wait until its context ends. A failure of work is told to an access that would have read what it wrote. All methods of all types are
// safe for concurrent use. [Observe] shows what buffers do. The rules in full, about turns, failures and unified devices,
// stand below the package clause of doc.go.
package buffer

// The rules in full. The scripts in testdata tell, step by step, what an observer sees in each of these cases.
//
// # Who waits for whom
//
// Two accesses exclude each other if they share an element and one of them writes. Accesses are served first come,
// first served: one that came later waits behind one that waits already, as if that were under way, so that readers who
// keep coming do not keep a writer waiting. Therefore a nested access may wait for ever, as with sync.RWMutex: a View
// within a View of the same elements waits behind an Update that came in between, which waits for the outer View.
// A context ends such a wait. [Buffer.TryAcquire] and a few others fail at once in place of waiting; the error is
// a [ConflictError], which names both sides.
//
// # Failures
//
// Work may fail when it runs, long after the call that enqueued it. What failed under way is known before bytes are shown
// on the host. What another place still holds is copied again from there, and one access is told: the next that would
// have read the bytes fails with the error of the work, and the one after that succeeds. What is nowhere else is lost until it is
// written anew or discarded: every access that would read it fails, with an error of kind hal.ErrDeviceLost
// that says so. This includes what was written by work that had read bytes which turn out never to have
// arrived, and copies of such bytes. See the scripts copy-fails, kernel-fails and eviction-fails in testdata.
//
// # Unified devices
//
// A device that works on host memory in place ([hal.Device.SharesHostMemory]) shares the host's replica, and
// nothing is copied between them. Where the host may only touch such memory while it is mapped
// ([hal.Memory.NeedsMap]), host and device take turns with the whole of a buffer: an access by one that
// writes waits for every access by the other, whatever their ranges. Accesses of the host to ranges that do not overlap
// do not exclude each other there either, but for one case: while those look at the memory who came when the device was reading it, an
// access of the host that writes waits for them.
