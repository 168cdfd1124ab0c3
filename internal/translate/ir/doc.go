// Package ir represents kernels that are written in Go, between Go's syntax and the texts of the targets.
//
// It is small and keeps structure. A [Function] has parameters, locals and a [Region]. A region is a list of statements, and loops, conditions and
// switches contain regions. There is no graph: whoever prints text finds the loops as they were written.
//
//   - A [Value] is immutable. A let binds a value: it is evaluated there once, and used any number of times, in the region of the let or inside it.
//     All other values are parts of one statement, which evaluates them from left to right.
//   - A [Place] is where a value is stored: a [Local], an element of a parameter, what a pointer points to, or a part of these.
//   - Calls and atomic operations stand alone in lets. So nothing within a statement has an effect on the rest of it, apart from the store that it is.
//   - An operation on integers wraps, and one on floats is rounded by itself. [Round] is Go's explicit conversion, which keeps two operations apart.
//   - Division by zero, an index out of range and a shift by a negative count panic. Whoever prints for a device may do something else there.
//   - A grid.Thread is no value: a function asks for the thread's place by operations.
//
// Each statement keeps the Go statement that it comes from, and each value its position and the Go variable that it is. The numbers of values are for
// tables of facts.
//
// type.go, function.go and op.go have the parts, builder.go makes them, dump.go prints them. [Program.Verify] checks the rules; each pass is checked
// with it in tests. Package interp runs a program: that is its meaning. Package build makes programs from Go, package facts finds out what is known
// about them.
//
// # Where things go
//
// A new statement of Go: build/statement.go, and nothing here if it can be made of the statements that there are. A new operation: op.go, its types in
// verify_value.go, its meaning in package interp. A function of Go's package math: [Functions]. A fact: a table in package facts.
//
// # What the first step showed
//
// All 139 kernels of the repository fit, with 78 functions that they call. No kernel needed a form that is not here. The interpreter equals Go on random
// kernels, on those of testdata/meaning.txt, and on forms that neither has. Every refusal in the translator's table comes with the same
// sentence at the same place. Of the functions in Go's own packages, 975 of 20,100 can be built; those keep the rules.
//
// It cost, in lines without tests: 1,490 for this package (of which the verifier has 400, the text form 280 and the list of Go's functions 50), 940 for
// the interpreter, 2,560 for package build, 450 for three tables of facts. Estimated were 1,200 for this package with the interpreter, and 2,600 for
// package build. This package without the interpreter is larger than both were meant to be; package build is as large as estimated.
//
// Two facts were tried. Whether all threads come to a barrier is one walk over regions: it finds so for all 112 barriers of the repository, and calls none
// of them divergent. 649 of 710 accesses of slices have an index that is a sum of products.
//
// These are other than planned:
//
//   - There are no floats of 16 bits. In Go they are a structure of a uint16, with functions in Go, and need nothing here.
//   - select, labelled blocks, and sums that are known not to wrap are not here, since nothing makes them yet. Whether a sum can wrap follows from the
//     range of its value, which is a fact and no operation.
//   - A call is a value, and only a let has it. As a statement as well it would be there twice.
//   - A loop counts if its variable changes in its step alone, by a constant, and its end does not change: its index is a value then. Other
//     loops keep their condition and step as Go has them.
//   - A site is the position of a value. Printers number the lines of the sites that they check.
//   - A function of package math on a float32 is the conversion of one on a float64, as in Go. A printer that calls a float32 function instead
//     finds the three operations together.
//
// These did not carry over, and stay where they are: refusals about names in the generated file, which are its printer's; and refusals of barriers that
// not all threads come to, which need to know what varies between threads.
package ir
