// Package hip is the backend for AMD devices, over the HIP runtime.
//
// It is selected by the build tag hip and registers itself under the name "hip". No ROCm installation is needed to build it. The runtime's
// library, libamdhip64.so of ROCm 5, 6 or 7, is looked for when the program first asks for devices; the environment variable
// HALYARD_HIP_LIBRARY names another library to use in its place. If no library is found, or the library finds no usable device, the backend
// is unavailable and its error says why. The library is loaded once.
//
// The backend uses calls that are the same in all three releases. It queries devices attribute by attribute, because the layout of the
// properties structure changed, and records the kind of each memory itself, because the numbers of memory types changed.
//
// # Devices
//
// The current device belongs to the OS thread; every call sets it. A device has one context, which the whole program shares; nothing
// retains or releases it. Memory.Handle is a device pointer and Stream.Handle a hipStream_t.
//
// Memory of KindHost is page-locked for all devices and mapped. Memory of KindShared is managed; on a device without CapConcurrentShared
// the host must not touch any of it while a kernel runs. MemInfo is a hint: some devices report more free memory than there is.
//
// A gate is hipStreamWaitValue32 on a word of signal memory. A device that cannot wait for such a word has no gates. A blocking host
// function cannot serve as a gate, because it would block the thread on which the runtime learns that work has finished.
package hip

//go:generate go run ../../internal/testing/protogen calls.txt
