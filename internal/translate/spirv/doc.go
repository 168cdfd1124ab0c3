// Package spirv prints kernels as modules of SPIR-V for Vulkan, from package ir. Each kernel is a module of its own, so a device without float64 can run the
// kernels that do not need it.
//
//   - module.go makes a module: the kernel with its parameters, and the functions that it calls.
//   - statement.go prints statements. Blocks are structured. A switch of integers is an OpSwitch. Long lists of other conditions are printed one after the
//     other, without nesting. call.go prints calls. A function with a parameter that refers to memory is inlined, since only buffers have addresses.
//   - value.go prints values of Go, and the places that they are read from, in Go's order. Operations on numbers are in integer.go, float.go and math.go, and
//     operations on memory in place.go. These four files take operands that are printed already.
//   - narrow.go prints integers that are kept in 32 bits: see facts.Narrow.
//   - flow.go has conditions and loops. A jump that leaves several loops or switches at once sets a flag, and the code at the end of each inner one tests the
//     flag.
//   - layers.go has the types that the files above share, and what adds functions to the module. type.go has the types of SPIR-V, in variables and in buffers.
//   - share.go is a pass: it adds the statements that set shared memory to zero.
//   - report.go prints what a module reports: indexes out of range, and loops that the device has ended.
//   - quirk.go has the rules that some driver makes necessary, each with its reason.
//
// Integers of 8 and 16 bits are computed as integers of 32 bits. A device must support the narrow types in memory only. A bound value is a result of SPIR-V;
// a local is a variable.
//
// Functions that Vulkan lacks are written in Go, in package vulkan. Package internal/translate/build makes their representation, and a module has the functions
// that its kernel calls: see [Options]. So they are compiled like functions of the user, and tests compare them with package math on the host.
//
// In the files, isa is internal/spirv, which has the numbers of SPIR-V, and build is internal/spirv/build, which assembles modules. Neither is
// internal/translate/build.
//
// # Where things go
//
// A new statement: a case of function.statement. A new operation: a case of values.compute, and a function beside the functions for similar operations. A new
// function of package math: a Go function of the same name in package vulkan, and nothing here. A new quirk: a rule in quirk.go, called where the operation is
// printed.
package spirv
