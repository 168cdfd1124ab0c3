// Package simgpu builds and controls simulated vendor GPU drivers, for tests on
// machines that have no GPU.
//
// One engine in C (folder src) has two faces: a libcuda.so.1 with the part of the
// CUDA driver interface that Halyard uses, and a libamdhip64.so.6 with the same
// part of the HIP runtime. They keep the vendors' binary interface, so that a
// backend loads or links them as it would the real ones. Each library that is
// loaded holds an engine of its own; a copy of the file under another path holds
// another one.
//
// What the engine makes of a program:
//
//   - Device memory lies at addresses that the host cannot touch, is poisoned
//     when it is new, and its addresses are not used again for a long time.
//   - Seed 0 runs work in order and soon. Any other seed runs it as late and in
//     as odd an order as streams and events allow, in pieces, so that a missing
//     wait shows as a wrong byte. The same seed makes the same choices as long as
//     the program's calls come in the same order; Control.Hold takes out the
//     background thread, the one thing besides that depends on time.
//   - A validator reports what a real driver forgives: see Control.Violations.
//   - Calls can be made to fail: see Control.FailCall and the others.
//   - Images of code are read for what they declare, and refused if they are damaged. Kernels are C functions of the engine with the name and the
//     parameters that an image declares: see Kernels. Memory that a launch uses takes part in everything above.
//
// What differs from a real driver, on purpose: freeing memory that work may still
// use does not wait for that work (it is reported, and the bytes are lost); a
// stream or event of another device than the current one is reported where the
// vendor looks away; the code in an image is not run.
//
// Everything that shows a simulated device says that it is simulated. The
// simulation needs Linux and, to be built, a C compiler.
package simgpu
