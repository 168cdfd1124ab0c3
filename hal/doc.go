// Package hal gives a program its devices: memory, streams and events on the host and on every accelerator whose backend is linked in.
// Package buffer keeps typed data coherent on several devices, and package kernel runs kernels on such data.
//
//	import _ "github.com/go-halyard/halyard/backends" // links what the build tags select
//
//	infos, err := hal.Devices(ctx)                 // List also says what is missing, and why
//	dev, err := hal.Default(ctx)                   // or Open(ctx, "cuda:0"), OpenAll(ctx)
//	fmt.Println(dev.Name(), dev.Info().Model, dev.Caps())
//	stream, err := dev.NewStream()
//	mem, err := dev.Alloc(hal.KindDevice, 4096, 0) // bytes; contents are unspecified
//	err = stream.Fill(mem.All(), hal.Pattern32(7)) // enqueued, like all work of a stream
//	err = stream.CopyIn(mem.Region(16, 64), in)
//	event, err := stream.Record()                  // stands for the work so far
//	err = other.WaitEvent(event)                   // later work of another stream waits
//	err = stream.CopyOut(out, mem.All())
//	err = stream.Sync(ctx)                         // waits; now out may be read
//	err = dev.Read(ctx, out, mem.All())            // waits, and is not ordered with any stream; Write does the same
//	err = hal.CloseAll(dev, stream, mem, event)    // in reverse order
//
// # Lifetime
//
// The Close of memory, streams and events may be called more than once and never waits for work under way: the object refuses further use
// at once, with [ErrClosed], and is given back to the driver when the last work that uses it has finished. An object that becomes
// unreachable without Close is reported ([SetLeakHandler]) and given back. A device does not close while objects made on it are open; the
// error names them. The memory of buffers counts too, so close buffers first. Opening a device again returns another handle, and closing
// the last handle closes the device.
//
// # Order and errors
//
// A stream runs its work in the order in which it was enqueued. Work of two streams is not ordered, unless one waits for an event of the
// other; the event may belong to any device of any backend. No method waits for work unless its documentation says so. All methods are
// safe for concurrent use: the work of several goroutines on one stream has the order in which their calls took effect.
//
// A call that fails has no effect; errors.Is finds the kind of an error, such as [ErrOutOfMemory]. Arguments are checked in this order:
// closed handles, wrong device, alignment, range, overlap. Length 0 is a length like any other: a copy, fill or launch of nothing that
// passes the checks does nothing and succeeds, and memory of 0 bytes can be made, passed and closed; its handle is 0. A method of a nil
// or zero handle fails with ErrInvalidArgument, or returns zero values. The fields of types that drivers share, such as [Info], are
// documented in package hal/driver.
package hal
