// Package ir represents kernels that are written in Go, between Go's syntax and the texts of the targets.
//
// It is small, and keeps the structure of the Go text. A [Function] has parameters, locals and a [Region]. A region is a list of statements, and loops,
// conditions and switches contain regions. There is no control-flow graph, so a printer finds the loops as they were written.
//
//   - A [Value] is immutable. A let binds a value: it is evaluated once, at the let, and can be used any number of times in the region of the let and in
//     regions inside it. All other values are parts of one statement, which evaluates them from left to right.
//   - A [Place] is where a value is stored: a [Local], an element of a parameter, what a pointer points to, or a part of these.
//   - Calls and atomic operations stand alone in lets. So evaluating one part of a statement never changes another part.
//   - Each operation on integers wraps, and each one on floats is rounded. [Round] is Go's explicit conversion of a float to its own type: operations
//     before and after it are not fused.
//   - Division by zero, an index out of range and a shift by a negative count panic. A printer for a device may define another result there.
//   - A grid.Thread is not a value. Operations such as [InGrid] return the thread's place.
//
// Each statement keeps the Go statement that it comes from. Each value keeps its position, and the name of the Go variable that it is. Value.ID is an index
// into tables of facts.
//
// type.go has types, function.go has functions, statements, values and places, and op.go has operations. builder.go makes them, and dump.go prints them.
// [Program.Verify] checks the rules. Tests call it after build. Package interp runs a program, and so defines its meaning. Package build makes programs from
// Go. Package facts finds out what is known about them.
//
// # Where things go
//
// A new statement of Go: a case of function.statement in build/statement.go. If existing statements can express it, nothing else changes.
//
// A new kind of statement here:
//
//   - function.go: an [Action] and its name in actions, and its fields in [Stmt]. Stmt.Operands and Stmt.Regions must know its values and regions.
//   - verifier.statement in verify.go: its rules. dumper.statement in dump.go: its text. thread.statement in interp/run.go: its meaning.
//   - A case in package facts, function.statement in cprint/statement.go and in spirv/statement.go, and counter.statement in footprint/steps.go. The
//     documentation of these packages says what a case needs. The rules in quirks/loops.go must know it if it leaves a loop.
//
// A new operation:
//
//   - op.go: an [Op] and its name in ops. Value.verify in verify_value.go: its types. thread.compute in interp/value.go: its meaning.
//   - A case of values.computed in cprint/expression.go, and of values.compute in spirv/value.go. Packages facts and footprint need a case if something is
//     known of its result.
//
// A function of Go's package math: [Functions], and each printer. A fact: a table in package facts.
//
// # What the first step showed
//
// All 144 kernels of the repository fit, with 78 functions that they call. No kernel needs a form that is not here. The interpreter equals Go on random
// kernels, on those of testdata/meaning.txt, and on further forms that tests write by hand. Every refusal in the translator's table comes with the same
// sentence at the same place. Of the 20,100 functions in Go's own packages, 975 can be built, and the verifier accepts all of these.
//
// The cost of the first step, in lines without tests: 1,490 for this package (of which the verifier has 400, the text form 280 and the list of Go's functions
// 50), 940 for the interpreter, 2,560 for package build, 450 for three tables of facts. Estimated were 1,200 for this package with the interpreter, and 2,600
// for package build. So this package alone is larger than the estimate for it and the interpreter together. Package build is as large as estimated.
//
// Two facts were tried. One walk over the regions finds whether all threads reach a barrier: they do for all 113 barriers of the repository. Of 720 accesses
// of slices, 659 have an index that is a sum of products.
//
// These differ from the plan:
//
//   - There are no floats of 16 bits. In Go they are a structure of a uint16, with functions in Go, and need nothing here.
//   - There is no conditional value (select), no labelled block and no sum that is known not to wrap, since nothing makes them yet. Whether a sum can wrap
//     follows from the range of its value, and ranges are facts.
//   - A call is a value that only a let can have. There is no statement for a call, because it would do the same.
//   - A loop counts if its variable changes in its step alone, by a constant, and its end does not change: then its index is a value. Other loops keep their
//     condition and step as Go has them.
//   - The site of an index check is the position of the index. Printers number the lines that have such checks.
//   - A function of package math on a float32 is three operations, as in Go: a conversion to float64, the function, and a conversion back. A printer may
//     recognize the three and call one function on float32.
//
// Two kinds of refusals are not in package build. Names that are not possible in the generated file are refused where that file is written. Barriers that not
// all threads reach are refused by phases.go of package translate, since that needs to know what varies between threads.
package ir
