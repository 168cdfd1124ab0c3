// Package quirks decides where the text of a kernel avoids faults of compilers.
//
// It reads the representation of package ir before anything is printed, and does not change the representation. The function [Of] returns a table that says
// where a printer writes another form. Each form is a macro of kernel/prelude, which has an effect only for the compilers that need it.
//
// quirks.go has the function Of, and table.go has the table. The rules look only at places, regions and facts. Each rule has its reason beside it:
//
//   - memory.go: PoCL repeats a read after a barrier, and moves a store past other uses of the same element; Rusticl crashes if a thread indexes an array argument by a variable.
//   - loops.go: PoCL keeps threads together in loops that some of the threads leave; Intel's compiler assumes that rounds of a loop are independent; Mesa's
//     drivers end loops after some number of rounds; compilers for processors vectorize threads only if there are no conditions.
//   - counted.go: PoCL leaves small arrays in memory if it does not unroll loops over them; NVIDIA's compiler counts rounds only if sums do not wrap around.
//   - numbers.go: operations on numbers that Intel's compiler or Mesa's compiler gets wrong.
//
// # Where things go
//
// A new quirk of a compiler for C needs:
//
//   - a field of [Table], and a rule that sets the field, with its reason, in one of these files. A rule that looks at a single value needs no field: it is a
//     function that the printer calls, such as [Minus].
//   - a macro in kernel/prelude that avoids the fault for the compiler that has the fault, and does nothing for other compilers.
//   - the place in package cprint that prints the macro. The type named values in that package embeds the table, so f.Stored is [Table].Stored.
//   - a test that shows the fault on the driver that has it, so that the rule can be removed once the driver is fixed.
//
// A quirk of a Vulkan driver goes into quirk.go of package spirv.
package quirks
