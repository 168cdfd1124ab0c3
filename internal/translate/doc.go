// Package translate turns kernels that are written in Go into the portable C dialect of package kernel, and into a Go file that launches them.
//
// [Load] type-checks packages; [Package.Translate] translates the functions that are marked //halyard:kernel, and the functions that these
// call. The work is a walk over the syntax tree, whose nodes have the types that go/types found:
//
//   - load.go finds, parses and checks a package. What is wrong outside the functions that are translated does not matter, so that a program can
//     use the generated functions before they exist.
//   - function.go translates one function. A generic function is translated once for each list of type arguments, and a function that takes
//     pointers once for each kind of memory that they point to. A function's callees come before it in the text, and their use of
//     parameters is known when it calls them: from that follow the modes of a kernel's arguments.
//   - statement.go writes the lines of a statement. It asks for the C text of its expressions first. An expression never has an effect: where
//     evaluating one takes a call, a composite literal or anything else that is a statement in C, it writes these lines before, into variables of their own, in
//     Go's order, and goes on with the names of these variables. A part that is evaluated only sometimes (the right side of &&, the condition of a
//     loop) is captured apart, and written where it runs.
//   - expression.go, call.go and place.go give the C text of values, calls and assignable places; types.go that of types.
//   - support.go has the C functions that give Go's meaning where that of C differs: shifts, division, conversions, package math.
//   - emit.go writes the Go file, and rows.go the loops in it that run kernels on the host.
//
// Names of Go get a prefix in C, such as h_NAME, so that none is a word of a C dialect. Kernels keep their names where those are free in all dialects.
//
// What has no translation is refused with its place and a sentence that says what to write instead: the error is an [Errors].
//
// On devices three things differ from Go: nothing is checked, so an index out of range reads or writes anywhere; division by zero is 0; and a shift by
// a negative count shifts everything out. Conversions of floats that an integer cannot hold give what Go gives on amd64.
package translate
