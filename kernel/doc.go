// Package kernel runs kernels on coherent buffers: one call takes the leases that a kernel needs, copies what is stale, launches it
// and returns.
//
//	import _ "github.com/go-halyard/halyard/backends" // links what the build tags select
//
//	var program = kernel.New(kernel.Source{
//		// for devices: Portable, or the fields OpenCL, CUDA and HIP with text in that language
//		Portable: `KERNEL void scale(GLOBAL f32 *x, f32 a, u64 n) { u64 i = INDEX(0); if (i < n) x[i] *= a; }`,
//		// for the host, which compiles nothing
//		Go: kernel.Functions{"scale": kernel.Go(func(b *kernel.Block) {
//			x, a := kernel.Slice[float32](b, 0), kernel.Number[float32](b, 1)
//			for i, end := kernel.Threads(b, 0, len(x)); i < end; i++ {
//				x[i] *= a
//			}
//		})},
//	})
//
//	dev, err := hal.Default(ctx)
//	stream, err := dev.NewStream()
//	x, err := buffer.From([]float32{1, 2, 3})
//	err = program.Kernel("scale").Launch(ctx, stream, hal.Over(x.Len()),
//		kernel.InOut(x), kernel.Value(float32(2)), kernel.Value(uint64(x.Len()))) // does not wait
//	err = x.CopyOut(ctx, result)       // waits
//	err = hal.CloseAll(dev, stream, x) // in reverse order; the program need not be closed
//
// # Sources
//
// A [Source] has a body for each kind of device: text in OpenCL C, CUDA C++ or HIP C++, or in the portable dialect that all three compilers
// take (see [Prelude]), images that are compiled already, and Go functions for the host. A program is compiled for a device when it is
// first launched there, or by [Program.Load], and what the compiler made is kept on disk for the next process.
//
// # Arguments
//
// [Value] and [Struct] pass numbers, [Shared] gives each block memory that its threads share, and [In], [InOut] and [Out] pass buffers: the
// kernel gets the address of their first element on the stream's device. In is for elements that are only read. InOut is for those that may
// be written, and the right choice if in doubt. Out promises that the kernel writes every element, so that none is copied to the device
// before. This package cannot see what a kernel does with its arguments. A kernel that writes to an In, or does not write all elements of an
// Out, gives wrong results without an error. With "kernels" in the environment variable HALYARD_CHECK most such kernels are found
// ([EnvCheck]).
//
// The same buffer, or slices of it that overlap, may be passed several times.
//
// # Order and failures
//
// Launch waits, until ctx ends, for accesses that conflict with its own, and for nothing else: the kernel runs later, in stream order. A
// launch that is refused changes nothing. If a kernel fails, the accesses that would read what it wrote fail with its error.
//
// # Kernels by hand
//
// A program that launches kernels itself takes leases with [buffer.AcquireAll], or [buffer.ReserveAll] and [buffer.Leases.Commit], and
// calls [hal.Stream.Launch], as this package does.
//
// The head of launch.go says how a launch works, the head of step.go how a recorded step does.
package kernel
