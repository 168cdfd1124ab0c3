// Package translate turns kernels that are written in Go into the portable C dialect of package kernel, into SPIR-V, and into a Go file that launches them.
//
// [Load] type-checks packages. [Package.Translate] translates the functions that are marked //halyard:kernel, and the functions that they
// call. It walks the syntax tree, with the types that go/types found:
//
//   - load.go finds, parses and checks a package. Errors outside the translated functions do not matter, so a program can use the generated
//     functions before they exist.
//   - function.go translates one function. A generic function is translated once for each list of type arguments, and a function with
//     pointer parameters once for each kind of memory that they point to. Callees are translated before their callers and come first in the
//     text, so a caller knows how they use their parameters. The modes of a kernel's arguments follow from that.
//   - statement.go writes the lines of a statement, after those of its expressions. The C text of an expression has no effects. A call, a composite
//     literal, or anything else that is a statement in C is written before, in Go's order, into a variable, and the expression uses the variable. If a
//     part is not always evaluated (the right side of &&, the condition of a loop), its lines are captured and written where it runs.
//   - expression.go, call.go, place.go and types.go return the C text of values, calls, assignable places and types.
//   - support.go has C functions for operations that C defines differently from Go: shifts, division, conversions, package math.
//   - vulkan.go writes the Go file with SPIR-V for devices of Vulkan. Package vulkan, below, makes the modules from the representation of package ir.
//   - emit.go writes the Go file. rows.go, within.go and phases.go write the loops in it that run kernels on the host. phases.go refuses barriers
//     that not all threads of a block come to, because such a kernel cannot be divided into loops.
//   - launch.go asks for what the file says of launches: which elements a box of threads reads and writes, how much work a thread has, the grid. Package
//     launches answers, from the representation of kernels in package ir.
//
// The C text of a launch is not this one: [Package].Portable prints it from the representation of the kernels, with packages build and cprint. The text that
// these files make is that of tests which compare the two. The rest of a function that they find out is for the launchers and the host.
//
// Names of Go get a prefix in C, such as h_NAME or k_KERNEL, so that none of them is a word of a C dialect. Messages of package kernel have the names of Go;
// tools of vendors show those of C.
//
// If something has no translation, the error is an [Errors]. It contains the position, and a sentence that says what to write
// instead.
//
// On devices three things differ from Go. Indexes are checked only with HALYARD_CHECK=bounds: otherwise an index out of range reads or writes
// anywhere. Division by zero is 0. A shift by a negative count shifts everything out. If an integer cannot hold a converted float, the result is that
// of Go on amd64.
package translate
