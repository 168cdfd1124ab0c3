// Package cprint prints kernels in the portable dialect of C, which package kernel compiles for CUDA, HIP and OpenCL.
//
// [Print] prints a program of package ir. There is one text for all dialects: names such as GLOBAL, BARRIER and ATOMIC_ADD are macros, which the headers in
// kernel/prelude define for each dialect. Go names get a prefix, so that no name is a word of a dialect: see mangle.
//
//   - program.go puts the text together. A part of the text that needs a feature of the device is between #if lines. printer.go has the state of the printer.
//   - function.go prints the head of a function, and finds where its variables are declared.
//   - statement.go prints statements. Loops and conditions keep the form that the representation has, because the rules of package quirks were found for this
//     form.
//   - expression.go prints values. call.go prints places and calls. values.go has what both files share, such as the names of variables. text.go puts
//     expressions together, with parentheses only where C needs them or compilers warn. An expression that is nested more deeply than compilers accept is
//     computed in steps, before the statement.
//   - aligned.go prints kernels that are compiled twice, once for aligned pointers, so that NVIDIA's compiler loads several numbers at once.
//   - narrow.go prints integers that are kept in 32 bits: see facts.Narrow.
//   - type.go has the types, and declares them. table.go declares tables.
//   - support.go and math.go have C functions for operations that C lacks or defines differently from Go: shifts, division, conversions, and the functions of
//     packages math and math/bits.
//   - shared.go sets memory that threads share to zero.
//
// Four things differ from Go. Only with HALYARD_CHECK=bounds does a kernel report where Go panics. Division by zero is 0. A shift by a negative count shifts
// everything out. If an integer cannot hold a converted float, the result is that of Go on amd64.
//
// # Where things go
//
// A new statement of the representation: a case of function.statement. A new operation: a case of values.computed, with a function in support.go if C has no
// such operation. A new dialect: a header in kernel/prelude that defines the macros. A form that avoids a compiler's fault: package quirks decides where the
// form is used, and a macro defines the form for each compiler.
package cprint
