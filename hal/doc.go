// Package hal gives a program its devices: memory, streams and events on the host
// and on every accelerator whose backend is linked in.
//
// A backend is linked by importing package backends (or one backend's own package)
// for its side effect. [List] reports which devices were found, [Open] opens a device by name:
//
//	dev, err := hal.Open(ctx, "cuda:0")
//
// # Objects and their lifetime
//
// A [Device] makes [Memory], [Stream] and [Event] values, which belong to it. Each is
// closed by its Close method, which may be called more than once and never waits for
// work under way: the handle refuses further use at once, with [ErrClosed], and the
// resource behind it is given back when the last work that uses it has finished. A
// device with open children does not close; the error names them. Opening a device that is already open returns another
// handle on it: each handle can be closed when the objects made through it are closed, and the last one closes the device.
// An object that becomes unreachable without having been closed is reported (see [SetLeakHandler]) and
// given back.
//
// # Memory and streams of other libraries
//
// [Device.Import] makes a Memory of memory that another library allocated, and [Device.ImportStream] a Stream of its
// stream; [Device.PointerInfo] describes the memory at an address, if the vendor can. Such objects are used and closed like
// any other. When the work that uses one has finished after its Close, the library does not free it: it calls the
// owner's release function, once.
//
// [Memory.IPCHandle] returns an [IPCHandle] that another process on the same machine gives to [Device.OpenIPC]. A
// handle can be sent as bytes or as text. The exporter must keep its memory open until all importers have closed theirs.
//
// # Order
//
// A stream runs its work in the order in which it was enqueued. Nothing else is
// ordered: no stream waits for another unless it is told to, for example by [Stream.WaitEvent].
// A stream can wait for an event of any device of any backend.
//
// No method blocks unless its documentation says so: [Stream.Sync], [Event.Sync],
// [Device.Read], [Device.Write] and [Device.Close] do, and the first four honour their context.
//
// # Checks
//
// Arguments are checked in this package alone, in one order: closed handles, wrong
// device, alignment, range, overlap. A call of length zero that passes every check does
// nothing. A call that fails has no effect. All sizes and offsets are in bytes. A call on a nil or zero handle fails with
// kind ErrInvalidArgument; methods without an error, such as Memory.Size, return zero for it.
//
// # Rows
//
// [Stream.Copy2D], [Stream.CopyIn2D] and [Stream.CopyOut2D] copy rows with a pitch, in one vendor call on devices with
// CapCopy2D and row by row on others.
//
// # Concurrency
//
// All methods of all types are safe for concurrent use. The order of work that several
// goroutines enqueue on one stream is the order in which their calls took effect.
package hal
