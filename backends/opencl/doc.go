// Package opencl is the backend of every OpenCL device: GPUs of all vendors, and CPUs through
// PoCL or Intel's runtime. Build with the tag opencl; without it the package is empty.
//
// No header, library or C compiler is needed to build it. When the program runs, libOpenCL.so.1 (OpenCL.dll, the OpenCL framework) is
// loaded, or the library that HALYARD_OPENCL_LIBRARY names; a program without one still runs, and the backend is unavailable and says why.
// Devices must offer OpenCL 1.2 or later.
//
// # Bindings
//
// The backend is written against a table of OpenCL calls, which is generated from calls.txt. By default its functions call the loaded
// library. The tag linked, with cgo and the OpenCL headers, replaces them by those of github.com/go-gl/cl. Calls that go-gl/cl lacks
// (shared virtual memory, extensions) still come from the loaded library. OpenCL headers newer than go-gl/cl need these flags:
//
//	CGO_CFLAGS="-DCL_TARGET_OPENCL_VERSION=120 -DCL_DEVICE_IMAGE_PITCH_ALIGNMENT=0x104A -DCL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT=0x104B"
//
// go-gl/cl links with -lCL. The folder lib holds libCL.so, a linker script that names the system's OpenCL library.
// Without cgo the tag linked changes nothing: the loaded binding is used. A program that sets HALYARD_OPENCL_LIBRARY
// also gets the loaded binding, of that library. Info.Driver says which binding is used.
//
// # Tiers of memory
//
// A device offers one or more of these tiers. The backend uses the first of them that the device has:
//
//	usm         cl_intel_unified_shared_memory: device, host and shared memory by address
//	svm         shared virtual memory, fine-grained: the host touches it in place
//	svm-coarse  shared virtual memory, coarse-grained: the host reaches it through copies
//	buffer      cl_mem: no address; the host reaches it through copies
//
// HALYARD_OPENCL_MEMORY forces one of them; the value svm means svm, or svm-coarse on a device that lacks svm. Devices and Open read the
// variable at each call. A device without the forced tier is listed with no tier and with the reason in Info.Driver; to open it is an error
// of kind ErrUnsupported.
//
// Memory.Handle is an address in the first three tiers (set kernel arguments with clSetKernelArgMemPointerINTEL or
// clSetKernelArgSVMPointer) and a cl_mem in the last (clSetKernelArg).
//
// CPUs and integrated GPUs share the host's memory. There the host can access memory of every kind in the tiers usm and svm, and if the
// device can access all of the process's memory, existing host memory can be registered and is used in place. In all other cases host
// memory cannot be registered. In the tiers svm-coarse and buffer the host has no pointer to memory of any kind.
//
// PoCL 7.1 takes a freed address from its list too late, and ends the process if an allocation gets that address meanwhile. So with
// versions of PoCL that have unified shared memory the backend frees memory of the tiers with addresses up to 100 ms later. It keeps back
// at most 64 MiB and 256 blocks, but always the last block, and frees all of them for Device.Reclaim, or if an allocation would fail
// otherwise. A program that
// allocates such memory itself, in the context that Handles returns, is not protected: it should do so in a context of its own.
//
// # Contexts, streams and events
//
// All handles on one device in one tier share a cl_context, so they can wait for each other's events and copy each other's memory. Devices
// do not share contexts, not even those of one platform: a context of several devices reserves memory on each of them, and a program that
// opens one device of eight should use the memory of that one only.
//
// Streams are in-order queues. They are flushed when an event is recorded, a host callback is set, a gate is enqueued, or a stream is
// queried, so that nothing waits for work that was never sent to the device. Until the program asks for a stream's Handle, the backend
// knows all the work in the queue, and Record and Sync use the event of the last command. Afterwards they enqueue a marker, which also
// covers the commands that the program enqueued itself.
//
// The status of an event is that of its own command. If an earlier command of the queue fails when it runs, and later ones were enqueued
// before the program queried its event, the failure is noticed only if the runtime fails the later commands too. OpenCL does not require
// that of a queue that runs its commands in order. A program that must know waits for each command before it enqueues the next.
//
// # Kernels
//
// A device loads OpenCL C, binaries, and SPIR-V where the driver takes it. Blocks are work-groups and threads are work-items; shared
// memory is a parameter with the qualifier local. The driver reports a kernel's parameters if the program is built with
// -cl-kernel-arg-info, so the backend adds that option. Intel's driver does not keep this information in binaries: there it comes from
// Image.Params, which Compile fills in. No driver reports the size of a structure, and PoCL accepts an argument of any size for one:
// declare the size in Image.Params to have it checked.
//
// A binary that Compile returns has a header. From it Load finds out whether the binary is damaged (ErrInvalidArgument), or was
// made by another version of the driver or for another device (ErrUnsupported), before the driver sees it. PoCL and Rusticl end
// the process when they are given a damaged binary, so on their devices a binary without that header is refused (ErrUnsupported).
// Other drivers get such a binary as it is.
//
// In the buffer tier the offset of a pointer argument in its memory must be a multiple of Info.Alignment (ErrMisaligned). Module.Kernel
// refuses kernels that take images, samplers, pipes or queues. PoCL compiles a kernel again for each new size of block, when the kernel is
// first launched with that size.
//
// # Enumeration
//
// Platforms are asked for their devices one after the other, in the order of the OpenCL library, and each once. Ordinals count their
// devices in that order, so a slow platform does not change the ordinals of other devices. Only the caller's context limits the wait: Open
// waits for the platforms up to the one of the device, Devices for all platforms. If the context ends first, the error names the platform
// that has not answered. The query goes on in a thread of its own, and a later call waits for it again. A driver that never answers can be
// left out with OCL_ICD_VENDORS.
//
// # Signals
//
// Drivers that compile with LLVM (PoCL, Intel's CPU runtime) replace a program's signal handlers. Without its own handlers the program
// would lose SIGTERM and SIGUSR1, and could not recover from a nil dereference. On Linux on amd64 and arm64 the backend restores the
// handlers after the calls that do this, and they stay in place when the program builds kernels later. Leave POCL_SIGFPE_HANDLER unset:
// with the value 0 PoCL replaces them at the program's first build instead, where the backend cannot restore them. On other systems the
// backend cannot restore handlers. There it sets the variable to 0 in the C environment, unless the variable is set already.
package opencl

//go:generate go run ../../internal/testing/protogen calls.txt
