// Package ir represents kernels that are written in Go, between Go's syntax and the texts of the targets.
//
// The representation is small, and keeps the structure of the Go text. A [Function] has parameters, locals and a [Region]. A region is a list of statements.
// Loops, conditions and switches contain regions. There is no control-flow graph, so a printer finds the loops as they were written.
//
//   - A [Value] is immutable. A let binds a value. The bound value is evaluated once, at the let, and can be used any number of times in the region of the let
//     and in regions inside that region. All other values are parts of one statement, which evaluates them from left to right.
//   - A [Place] is where a value is stored: a [Local], an element of a parameter, the target of a pointer, or a part of one of these.
//   - Calls and atomic operations occur only as the values of lets. So evaluating one part of a statement never changes another part.
//   - Each operation on integers wraps around, and each operation on floats is rounded. [Round] is Go's explicit conversion of a float to its own type:
//     operations before and after it are not fused.
//   - Division by zero, an index out of range and a shift by a negative count panic. A printer for a device may define a result instead of the panic.
//   - A grid.Thread is not a value. Operations such as [InGrid] return the thread's place.
//
// Each statement keeps the Go statement that it comes from. Each value keeps its position, its Go expression if it has one, and the name of its Go variable if
// it has one. Value.ID is an index into tables of facts.
//
// type.go has types, function.go has functions, statements, values and places, and op.go has operations. builder.go makes all these, and dump.go prints them.
// [Program.Verify] checks the rules. Tests call this method after package build. Package interp runs a program, and so defines its meaning. Package build makes
// programs from Go. Package facts finds out what is known about programs.
//
// # Where things go
//
// A new statement of Go: a case of function.statement in build/statement.go. If existing statements can express it, nothing else changes.
//
// A new kind of statement here:
//
//   - function.go: an [Action] with a name in the table actions, and the statement's fields in [Stmt]. Stmt.Operands and Stmt.Regions must return its values
//     and regions.
//   - verifier.statement in verify.go: its rules. dumper.statement in dump.go: its text. thread.statement in interp/run.go: its meaning.
//   - A case in package facts, function.statement in cprint/statement.go and in spirv/statement.go, writer.statement in lanes/statement.go (which may refuse
//     it), and counter.statement in footprint/steps.go. The
//     documentation of these packages says what a case needs. If the statement leaves a loop, the rules in quirks/loops.go must know it.
//
// A new operation:
//
//   - op.go: an [Op] with a name in the table ops. Value.verify in verify.go: its types. thread.compute in interp/value.go: its meaning.
//   - A case of values.computed in cprint/expression.go, of values.compute in spirv/value.go, and of values.compute in lanes/expression.go. Packages facts
//     and footprint need a case if something is known of the operation's result.
//
// A new function of Go's package math: an entry of [Functions], and a case in each printer. A new fact: a table in package facts.
//
// # What the first step showed
//
// It could represent all 144 kernels that the repository had then, and the 78 functions that they called. No kernel needs a form that this package lacks. The
// interpreter has the same results as Go for random kernels, for the kernels of testdata/meaning.txt, and for further kernels in tests. Every refusal in the
// translator's table comes with the same sentence at the same position. Of the 20,100 functions in Go's own packages, package build can build 975, and the
// verifier accepts all 975.
//
// The cost of the first step, in lines without tests: 1,490 for this package (of which the verifier has 400, the text form 280 and the list of Go's functions
// 50), 940 for the interpreter, 2,560 for package build, 450 for three tables of facts. The estimates were 1,200 lines for this package with the interpreter,
// and 2,600 for package build. So this package alone is larger than the estimate for both this package and the interpreter. Package build is as large as
// estimated.
//
// Two facts were tried. One walk over the regions finds whether all threads reach a barrier. All threads reach all 113 barriers of the repository. Of 720
// accesses of slices, 659 have an index that is a sum of products.
//
// The package differs from the plan in these points:
//
//   - There are no floats of 16 bits. A Go program has a structure with a uint16 for them, and functions in Go. This package needs nothing for that.
//   - There is no conditional value (select), no labelled block and no sum that is known not to wrap around, since nothing makes any of these yet. Whether a
//     sum can wrap around follows from the range of its value, and ranges are facts.
//   - A call is a value that only a let can have. There is no statement for a call, because a let does the same.
//   - A loop counts if its variable changes only in its step, by a constant, and its end does not change. Then the index of the loop is a value. Other loops
//     keep the condition and the step that they have in Go.
//   - The site of an index check is the position of the index. Printers number the lines that have index checks.
//   - A function of package math on a float32 is three operations, as in Go: a conversion to float64, the function, and a conversion back. A printer may
//     recognize the three operations and call one function on float32.
//
// Two kinds of refusals are not in package build. The code that writes the generated file refuses names that are not possible in that file. Package facts
// refuses barriers that not all threads reach, where it divides a kernel at its barriers.
package ir
