// Package quirks decides where the text of a kernel avoids faults of compilers.
//
// It reads the representation of package ir before anything is printed, and changes nothing in it: [Of] returns a table that says where a printer writes
// another form. What each form is for which compiler stands in kernel/prelude, where all forms are macros that do nothing for the other compilers.
//
// quirks.go begins, table.go has the table. The rules look at places, regions and facts only. Each has its reason beside it:
//
//   - memory.go: PoCL reads again what was read before a barrier, and moves a store past other uses of the element; Rusticl takes no element of an
//     argument by a thread's index.
//   - loops.go: PoCL keeps threads together in loops that some of them leave; Intel's compiler takes rounds of a loop for independent; Mesa's drivers end
//     loops after some number of rounds; compilers for processors compute several threads at once only without conditions.
//   - counted.go: PoCL leaves small arrays in memory if it does not unroll loops over them; NVIDIA's compiler counts rounds only if sums do not wrap around.
//   - numbers.go: forms of numbers that Intel's compiler and Mesa's get wrong.
//
// # Where things go
//
// A new quirk of a compiler for C: a field of [Table], a rule with its reason in one of these files, a macro in kernel/prelude, and a test that shows the fault
// on the driver that has it, so that the rule can go when the driver is mended. Package cprint asks the table where it prints the form. A quirk of a driver of
// Vulkan goes into package spirv, where quirk.go has these.
package quirks
