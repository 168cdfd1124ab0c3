// Package opencl is the backend of every OpenCL device: GPUs of all vendors, and CPUs through
// PoCL or Intel's runtime. Build with the tag opencl; without it the package is empty.
//
// No header, library or C compiler is needed to build it. When the program runs, libOpenCL.so.1
// (OpenCL.dll, the OpenCL framework) is loaded, or the library that HALYARD_OPENCL_LIBRARY
// names; a program without one still runs, and the backend is unavailable and says why.
// Devices must offer OpenCL 1.2 or later.
//
// # Bindings
//
// The backend is written against a table of OpenCL calls. The tag linked, with cgo and the
// OpenCL headers, fills it from github.com/go-gl/cl, and calls that package lacks (shared
// virtual memory, extensions) from the loaded library. That package needs to be told about
// headers newer than itself:
//
//	CGO_CFLAGS="-DCL_TARGET_OPENCL_VERSION=120 -DCL_DEVICE_IMAGE_PITCH_ALIGNMENT=0x104A -DCL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT=0x104B"
//
// and links with -lCL, for which the folder lib holds a linker script. Without cgo the tag linked
// changes nothing: the loaded binding is used. A program that sets HALYARD_OPENCL_LIBRARY
// gets the loaded binding of that library too. Info.Driver says which binding is at work.
//
// # Tiers of memory
//
// A device offers one or more of these, and the first that it has is used:
//
//	usm         cl_intel_unified_shared_memory: device, host and shared memory by address
//	svm         shared virtual memory, fine-grained: the host touches it in place
//	svm-coarse  shared virtual memory, coarse-grained: the host maps it first
//	buffer      cl_mem: no address; memory of KindHost is mapped before the host touches it
//
// HALYARD_OPENCL_MEMORY forces one of them; svm stands for the finer kind that the device
// has. It is read at each call of Devices and Open. A device that lacks the tier is
// listed, with the reason in Info.Driver and no tier, and refuses to open with ErrUnsupported.
//
// A program chooses a tier for one device by opening it with a backend of its own options:
//
//	dev, err := hal.OpenWith(ctx, opencl.New(opencl.Options{Memory: "svm"}), 1)
//
// Memory.Handle is an address in the first three tiers (set kernel arguments with
// clSetKernelArgMemPointerINTEL or clSetKernelArgSVMPointer) and a cl_mem in the last
// (clSetKernelArg).
//
// CPUs and integrated GPUs share the host's memory. There the host can access memory of every kind, and existing host memory can be
// registered and is used in place: by its address where the device can access all of the process's memory, and through
// CL_MEM_USE_HOST_PTR in the buffer tier. In all other cases it cannot be registered.
//
// # Contexts, streams and events
//
// All handles on one device in one tier share a cl_context, so they can wait for each
// other's events and copy each other's memory. Devices do not share contexts, not even those
// of one platform: a context of several devices reserves memory on each of them, and a program
// that opens one device of eight should use only that one.
//
// Streams are in-order queues. They are flushed when an event is recorded, a host
// callback is set, a gate is enqueued, or a stream is queried, so that nothing waits for
// work that was never sent to the device. While a program has not asked for a
// stream's Handle, the backend knows all the work in the queue and takes its last event
// for Record and Sync; afterwards it enqueues a marker, to cover what the program enqueued itself.
//
// # Kernels
//
// A device loads OpenCL C, binaries, and SPIR-V where the driver takes it. Blocks are work-groups and threads are work-items; shared
// memory is a parameter with the qualifier local. What a kernel takes is the driver's own information, for which programs are built with
// -cl-kernel-arg-info. Intel's driver forgets it in binaries: there it comes from Image.Params, which Compile fills in. No
// driver tells the size of a structure, and PoCL takes one of any size: declare it in Image.Params to have it checked.
//
// A binary that Compile returns has a header, by which Load finds that it is damaged (ErrInvalidArgument), or was made by another
// version of the driver or for another device (ErrUnsupported), before the driver sees it. Binaries without that header go to
// the driver as they are: PoCL ends the process when one is cut short, Rusticl when it is no binary.
//
// In the buffer tier a pointer into a memory must be at a multiple of Info.Alignment (ErrMisaligned). Kernels that take images, samplers or
// queues are refused by Module.Kernel. PoCL compiles a kernel again for each new size of block, when it first runs in it.
//
// # Enumeration
//
// Each platform is asked in a goroutine of its own. One that does not answer before the
// deadline of the context, or within five seconds, is left out and named by
// the backend's Problems method; the thread that it holds is lost. The devices of a platform that
// answers later are added at the end of the list, so that ordinals keep their meaning.
//
// # Signals
//
// Drivers that compile with LLVM (PoCL, Intel's CPU runtime) replace a program's signal handlers: the
// program would lose SIGTERM and SIGUSR1, and could not recover from a nil pointer. On
// Linux on amd64 and arm64 the backend restores the handlers after the calls that do this, and they
// stay in place when the program builds kernels later. Leave POCL_SIGFPE_HANDLER unset:
// with the value 0 PoCL replaces them at the program's first build instead, where the backend cannot
// restore them. On other systems, where the backend cannot restore handlers, it sets that variable to 0
// itself, in the C environment, unless the program's environment has it.
package opencl
