// Package cprint prints kernels in the portable dialect of C, which package kernel compiles for CUDA, HIP and OpenCL.
//
// [Print] prints a program of package ir. There is one text for all dialects: names such as GLOBAL, BARRIER and ATOMIC_ADD are macros, which the headers in
// kernel/prelude define for each. Names of Go get a prefix, so that none of them is a word of a dialect: see mangle.
//
//   - program.go puts the text together, and leaves out for a device what that lacks. printer.go has the state of the printer.
//   - function.go prints the head of a function, and finds where its variables are declared.
//   - statement.go prints statements. Loops and conditions keep the form that the representation has, because the rules of package quirks were found for it.
//   - expression.go prints values, call.go places and calls. values.go has what they share, such as the names of variables. text.go puts expressions
//     together: there are brackets only where C needs them or compilers warn. One that is nested more deeply than compilers take is computed in steps,
//     before the statement.
//   - type.go has the types, and declares them.
//   - support.go and math.go have C functions for operations that C defines differently from Go: shifts, division, conversions, packages math and math/bits.
//   - shared.go sets memory that threads share to zero.
//
// Four things differ from Go. Indexes are checked only with HALYARD_CHECK=bounds. Division by zero is 0. A shift by a negative count shifts everything out.
// If an integer cannot hold a converted float, the result is that of Go on amd64.
//
// # Where things go
//
// A new statement of the representation: a case of function.statement. A new operation: a case of values.computed, with a function in support.go if C has
// no such operation. A new dialect: a header in kernel/prelude that defines the macros. A form that avoids a compiler's fault: package quirks decides
// where, and a macro says what it is for each compiler.
package cprint
