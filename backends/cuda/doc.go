// Package cuda is the backend for NVIDIA devices, over the CUDA driver API.
//
// It is selected by the build tag cuda and registers itself under the name "cuda".
// No CUDA toolkit is needed to build it. The driver's library, libcuda.so.1, is looked
// for when the program first asks for devices; the environment variable
// HALYARD_CUDA_LIBRARY names another library to use in its place. If no library is found, or the
// library finds no usable device, the backend is unavailable and its error says why.
//
// # Bindings
//
// There are two ways to bind the calls of the library. They behave alike.
//
// Loaded is the default and needs no cgo. Symbols are looked up one by one: if an old driver lacks
// an optional symbol, the devices lack a capability.
//
// Linked is selected by the tags cuda and linked together, with cgo. Devices and contexts come from
// gorgonia.org/cu, for programs that use that package and want to share contexts,
// streams and pointers with it. Copies, fills, allocation, launches and the calls of streams and events are
// C functions of this package, which make the context current and use it in one crossing from Go to C. The
// remaining calls are loaded from the same library. This binding
// needs cuda.h of CUDA 11.8 to 12.9, and libcuda to link with. gorgonia.org/cu initialises the
// driver when the program starts, and ends the process if there is no GPU.
//
// Both bindings are generated from calls.txt, the list of the driver's calls.
//
// With either binding, a call leaves the device's context current on the thread that made the call. A
// program that has locked a goroutine to its thread and made another context current there must make
// its context current again after the call.
//
// # Devices
//
// A device stands for its primary context, which the CUDA runtime and every library built on it
// use. So Memory.Handle is a CUdeviceptr and Stream.Handle a CUstream that can be passed to these
// libraries. Listing devices creates no context. Each open handle retains the primary context once.
//
// Memory of KindHost is page-locked for all contexts and mapped. Memory of KindShared is
// managed; on a device without CapConcurrentShared the host must not touch any of it while a
// kernel runs. Streams are created non-blocking. Events are made without CU_EVENT_BLOCKING_SYNC, which makes
// the device interrupt a processor at each of them. A wait for an event asks for it again and again, and sleeps
// between the questions; one wait of a device at a time asks without a pause, for its first 100 µs.
//
// Memory in stream order comes from the device's current pool (cuDeviceGetMemPool). If that has the release threshold 0,
// the first allocation raises it to 1 GiB, or to a 16th of the device's memory if that is less, and closing the device sets it back.
//
// A gate is cuStreamWaitValue32 on a page-locked word. Drivers before 11.7 lack that call. On them a
// gate is a host function that blocks. The driver may run host functions one at a time, so such a gate
// delays the host functions of other streams while it is shut. A stream that waits may also delay other
// streams that use the same hardware queue of the device. There are 8 hardware queues, or as many as the
// environment variable CUDA_DEVICE_MAX_CONNECTIONS says, at most 32.
//
// An error that the driver calls sticky, such as an illegal address in a kernel, ends the context:
// every later call reports ErrDeviceLost until the whole program has closed all its handles on the
// device.
package cuda

//go:generate go run ../../internal/testing/protogen calls.txt
