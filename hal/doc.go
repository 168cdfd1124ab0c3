// Package hal gives a program its devices: memory, streams and events on the host
// and on every accelerator whose backend is linked in.
//
// A backend is linked by importing package backends (or one backend's own package)
// for its side effect. [List] tells what was found, [Open] opens a device by name:
//
//	dev, err := hal.Open(ctx, "cuda:0")
//
// # Objects and their lifetime
//
// A [Device] makes [Memory], [Stream] and [Event] values, which belong to it. Each is
// closed by its Close method, which may be called more than once and never waits for
// work under way: the handle refuses further use at once, with [ErrClosed], and the
// resource behind it is given back when the last work that uses it has finished. A
// device with open children does not close; the error names them. Who opens a device that is open gets another
// handle on it: each handle closes when what was made through it is closed, and the last one closes the device. A value that becomes
// unreachable without having been closed is reported (see [SetLeakHandler]) and
// given back.
//
// # What others made
//
// [Device.Import] makes a Memory of memory that another library allocated, and [Device.ImportStream] a Stream of its
// stream; [Device.PointerInfo] tells what a pointer is where the vendor can. Such objects are used and closed like any
// other, and the work on them is waited for; what is called in the end, in place of the vendor's release, is
// the owner's own function, once.
//
// [Memory.IPCHandle] returns an [IPCHandle] that another process on the same machine gives to [Device.OpenIPC]. A
// handle is bytes or text. The exporter keeps its memory open until the importers have closed theirs.
//
// # Order
//
// A stream runs its work in the order in which it was enqueued. Nothing else is
// ordered: no stream waits for another, except through [Stream.WaitEvent]. A stream can wait
// for the event of any device of any backend.
//
// No method blocks unless its documentation says so: [Stream.Sync], [Event.Sync],
// [Device.Read], [Device.Write] and [Device.Close] do, and the first four honour their context.
//
// # Checks
//
// Arguments are checked in this package alone, in one order: closed handles, wrong
// device, alignment, range, overlap. A call of length zero that passes every check does
// nothing. A call that fails has no effect. All sizes and offsets are in bytes. A nil handle, or a zero one that no call
// returned, is of kind ErrInvalidArgument; what describes such a handle without an error, such as Memory.Size, is zero.
//
// # Rows
//
// [Stream.Copy2D], [Stream.CopyIn2D] and [Stream.CopyOut2D] copy rows that lie apart, in one call of the vendor's where
// the device has CapCopy2D and row by row elsewhere.
//
// # Concurrency
//
// All methods of all types are safe for concurrent use. The order of work that several
// goroutines enqueue on one stream is the order in which their calls took effect.
package hal
