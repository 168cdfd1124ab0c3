// Package quirks decides where the text of a kernel avoids faults of compilers.
//
// It reads the representation of package ir before anything is printed, and does not change it: [Of] returns a table that says where a printer writes another
// form. Each form is a macro of kernel/prelude, which has an effect only for the compilers that need it.
//
// quirks.go has Of, table.go its table. The rules look at places, regions and facts only. Each has its reason beside it:
//
//   - memory.go: PoCL repeats a read after a barrier, and moves a store past other uses of the same element; Rusticl crashes if a thread indexes an array argument by a variable.
//   - loops.go: PoCL keeps threads together in loops that some of them leave; Intel's compiler takes rounds of a loop for independent; Mesa's drivers end
//     loops after some number of rounds; compilers for processors vectorize threads only if there are no conditions.
//   - counted.go: PoCL leaves small arrays in memory if it does not unroll loops over them; NVIDIA's compiler counts rounds only if sums do not wrap around.
//   - numbers.go: forms of numbers that Intel's compiler and Mesa's get wrong.
//
// # Where things go
//
// A new quirk of a compiler for C needs:
//
//   - a field of [Table], and a rule with its reason in one of these files, which sets it. A rule that looks at a single value needs no field. It is a function
//     that the printer calls, such as [Minus].
//   - a macro in kernel/prelude: it avoids the fault for the compiler that has it, and does nothing for others.
//   - the place in package cprint that prints the macro. Type values there embeds the table, so f.Stored is [Table].Stored.
//   - a test that shows the fault on the driver that has it, so that the rule can go when the driver is mended.
//
// A quirk of a driver of Vulkan goes into package spirv, where quirk.go has these.
package quirks
