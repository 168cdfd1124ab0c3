// Package spirv prints kernels as modules of SPIR-V for Vulkan, from package ir. Each kernel is a module of its own, so one that needs float64 does not
// keep others from a device without it.
//
//   - module.go makes a module: the kernel with its parameters, and the functions that it calls.
//   - statement.go prints statements. Blocks are structured. A switch of integers is an OpSwitch, and long lists of other conditions stand one after the
//     other, so they nest nothing. call.go prints calls. A function with a parameter that refers to memory is inlined, since only buffers have addresses.
//   - value.go prints values of Go, and the places that they are read from, in Go's order. What it needs for numbers is in integer.go, float.go and
//     math.go, and for memory in place.go: these take operands that are printed already.
//   - flow.go has conditions and loops. A jump that leaves several of them at once sets a flag, which is tested at the end of each.
//   - layers.go has the types that the files above share, and functions of the module. type.go has the types of SPIR-V, in variables and in buffers.
//   - share.go is a pass: it adds the statements that set shared memory to zero.
//   - report.go prints what a module reports: indexes out of range, and loops that the device has ended.
//   - quirk.go has the rules that are there because of a driver, each with its reason.
//
// Integers of 8 and 16 bits are computed as integers of 32 bits. A device must support the narrow types in memory only. A bound value is a result of SPIR-V;
// a local is a variable.
//
// Functions that Vulkan lacks are written in Go, in package vulkan. Package build makes their representation, and a module has those that its kernel calls:
// see [Options]. So they are compiled like functions of the user, and tests compare them with package math on the host.
//
// In the files, isa is internal/spirv, which has the numbers of SPIR-V, and build is internal/spirv/build, which assembles modules. Neither is
// internal/translate/build.
//
// # Where things go
//
// A new statement: a case of function.statement. A new operation: a case of values.compute, and a function beside those of similar operations. A new function
// of package math: a Go function of the same name in package vulkan, and nothing here. A new quirk: a rule in quirk.go, called where the operation is
// printed.
package spirv
