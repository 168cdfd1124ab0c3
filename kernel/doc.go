// Package kernel runs kernels on coherent buffers: one call takes the leases that a kernel needs, copies what is stale, launches it
// and returns.
//
//	var program = kernel.New(kernel.Source{Portable: saxpyC, Go: kernel.Functions{"saxpy": saxpyGo}})
//	var saxpy = program.Kernel("saxpy")
//
//	err := saxpy.Launch(ctx, stream, kernel.Over(n),
//		kernel.Value(float32(2)), kernel.In(x), kernel.InOut(y), kernel.Value(uint64(n)))
//
// # Sources
//
// A [Source] has a body for each kind of device: text in OpenCL C, CUDA C++ or HIP C++, or in the portable dialect that all three compilers
// take (see [Prelude]), images that are compiled already, and Go functions for the host. A program is compiled for a device when it is first
// launched there, or by [Program.Load], and what the compiler made is kept on disk for the next process.
//
// # Arguments
//
// [Value] and [Struct] pass numbers, [Shared] gives each block memory that its threads share, and [In], [InOut] and [Out] pass buffers: the
// kernel gets the address of their first element on the stream's device. In is for elements that are only read. InOut is for those that may be written, and
// the right choice in case of doubt. Out promises that the kernel writes every element, so that none is copied to the device before. What a
// kernel does with its arguments is not seen: one that writes to an In, or leaves out elements of an Out, makes wrong results without an
// error, unless the environment variable HALYARD_CHECK contains "kernels" ([EnvCheck]).
//
// The same buffer, or slices of it that overlap, may be passed several times.
//
// # Order and failures
//
// Launch waits for accesses that exclude its own until ctx ends, and for nothing else: the kernel runs later, in stream order. A launch that is refused changes
// nothing. If a kernel fails, the accesses that would read what it wrote fail with its error.
//
// # Kernels by hand
//
// Code that is launched by its own means takes leases with [buffer.AcquireAll], or [buffer.ReserveAll] and [buffer.Leases.Commit], and calls
// [hal.Stream.Launch]: that is all this package does.
package kernel
