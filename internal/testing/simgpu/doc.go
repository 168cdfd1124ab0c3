// Package simgpu builds and controls simulated drivers of GPU vendors, for tests on machines that
// have no GPU.
//
// One engine in C (folder src) has two faces: a libcuda.so.1 with the part of the CUDA driver API
// that Halyard uses, and a libamdhip64.so.6 with the same part of the HIP runtime. Both have the
// vendors' binary interface, so a backend loads or links them like the real libraries. Each loaded
// library contains an engine of its own. A copy of the file under another path is another library,
// with another engine.
//
// How the engine treats a program:
//
//   - Device memory is at addresses that the host cannot access. New memory contains poison, and
//     addresses of freed memory are not used again for a long time.
//   - With seed 0 work runs in order and soon. With any other seed it runs late, in pieces, and in
//     any order that streams and events allow, so that a missing wait shows as a wrong byte. The same
//     seed makes the same choices if the program makes the same calls in the same order and the
//     background thread, which depends on time, is stopped by Control.Hold.
//   - A validator reports misuse that a real driver may tolerate: see Control.Violations.
//   - Tests can make calls fail: see Control.FailCall, FailAlloc, Sticky and Lost.
//   - Images of code are read, and refused if they are damaged. Images without code declare kernels for which the engine has C functions: see
//     Kernels. The CUDA driver interprets PTX that has code. For code objects that have code, the HIP driver has C functions for the kernels of a
//     few programs, and refuses others. All that is said above also holds for memory that a launch uses.
//
// These differences from a real driver are on purpose. Freeing memory that work may still use does
// not wait for that work: it is reported, and the bytes are lost. A stream or event of a device
// that is not current is reported even where the vendor accepts it. Machine code in an image is not
// run.
//
// Every name and description of a simulated device says that it is simulated. The simulation needs
// Linux, and a C compiler to build it.
package simgpu
