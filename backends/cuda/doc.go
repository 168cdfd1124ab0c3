// Package cuda is the backend for NVIDIA devices, over the CUDA driver API.
//
// It is selected by the build tag cuda and registers itself under the name "cuda".
// No CUDA toolkit is needed to build it. The driver's library, libcuda.so.1, is looked
// for when the program first asks for devices; the environment variable
// HALYARD_CUDA_LIBRARY names another one to use in its place. Without a library, or
// with one that finds no usable device, the backend is unavailable and says why.
//
// # Bindings
//
// The calls of the library are bound in one of two ways, which behave alike.
//
// Loaded is the default and needs no cgo. Symbols are looked up one by one: if an old
// driver lacks an optional one, the devices lack a capability.
//
// Linked is selected by the tags cuda and linked together, with cgo. The calls go through
// gorgonia.org/cu, for programs that use that package and want to share contexts,
// streams and pointers with it; calls that it lacks are loaded from the same library. Copies, fills,
// allocation and most calls of streams and events make their context current and use it in one
// crossing from Go to C, for which that package has no call. This binding needs
// cuda.h of CUDA 11.8 to 12.9 and libcuda to link against. gorgonia.org/cu initialises
// the driver when the program starts, and ends the process where there is no GPU.
//
// With either binding, a call leaves the device's context current on the thread that made the call. A
// program that has locked a goroutine to its thread and made another context current there must make
// that one current again afterwards.
//
// # Devices
//
// A device stands for its primary context, the one that the CUDA runtime and every
// library built on it use, so Memory.Handle is a CUdeviceptr and Stream.Handle a CUstream
// that can be passed to them. Listing devices creates no context; each open handle
// retains it once.
//
// Memory of KindHost is page-locked for all contexts and mapped. Memory of KindShared is
// managed; on a device without CapConcurrentShared the host must not touch any of it while a
// kernel runs. Streams are created non-blocking. An event puts the thread that waits for it
// to sleep, unless another thread spins for the driver.
//
// A gate is cuStreamWaitValue32 on a page-locked word. On drivers before 11.7, which lack
// it, a gate is a host function that blocks; the driver may run host functions one
// at a time, so a gate that is shut then delays the host functions of other streams. A stream that waits
// may also delay other streams with which it shares one of the device's hardware queues: there are 8, or
// as many as the environment variable CUDA_DEVICE_MAX_CONNECTIONS says, at most 32.
//
// An error that the driver calls sticky, such as an illegal address in a kernel, ends the
// context: every later call reports ErrDeviceLost until all handles on the device, in all
// of the program, are closed.
package cuda
