// Package hip is the backend for AMD devices, over the HIP runtime.
//
// It is selected by the build tag hip and registers itself under the name "hip". No
// ROCm installation is needed to build it. The runtime's library, libamdhip64.so of ROCm 5,
// 6 or 7, is looked for when the program first asks for devices; the environment variable
// HALYARD_HIP_LIBRARY names another one to use in its place. Without a library, or with one
// that finds no usable device, the backend is unavailable and says why. The library is loaded once.
//
// Only calls that are the same in all three releases are used: devices are described attribute by
// attribute, since the properties structure changed its layout, and the backend itself records the
// kind of each memory, since the numbers of memory types changed.
//
// # Devices
//
// The current device belongs to the OS thread; every call sets it. A device has one context, which
// the whole program shares; nothing retains or releases it. Memory.Handle is a
// device pointer and Stream.Handle a hipStream_t.
//
// Memory of KindHost is page-locked for all devices and mapped. Memory of KindShared is
// managed; on a device without CapConcurrentShared the host must not touch any of it while a
// kernel runs. MemInfo is a hint: some parts report more free memory than there is.
//
// A gate is hipStreamWaitValue32 on a word of signal memory; a device that cannot wait for one
// has no gates. A blocking host function is not used as a gate, because it would block the thread on
// which the runtime learns that any work has finished.
package hip
