// Package facts finds out what is known about kernels. Each fact is a table, and one walk over the regions of a function computes it. The walks know package
// ir. They use each other's tables only as said here.
//
//   - effects.go: what a function does with its parameters' memory, and whether it has barriers. The other tables use these facts.
//   - varies.go: between which threads a value differs, and which threads come to a barrier or leave a loop before others.
//   - flow.go: how a statement is left from inside, and which chains of else-ifs are long. value.go has questions about a single value.
//   - needs.go: where a function uses what not every device has.
//   - phases.go divides a kernel at its barriers into phases. settled.go finds the variables that are the same for all threads of a block, and those that each
//     phase can compute again. together.go finds phases whose loop over the threads can be shorter or can use memory more evenly.
//   - filled.go: which shared memory is written before any thread can read it.
//   - reach.go, reach_statement.go and reach_value.go follow a kernel, with all that it calls, as one thread. The result is a list of the accesses of slices.
//     Each has its index, as a sum of products of the launch's arguments and the thread's places, and the conditions that hold there. sum.go has these sums.
//   - narrow.go: which integers of 64 bits a translation may compute in 32 bits. span.go has their ranges.
//   - bound.go: upper bounds of numbers, and of the rounds of a loop, in terms of the launch's arguments. rounds.go: the rounds of all loops of a thread.
//
// # Where things go
//
// A new statement of the representation: a case of walk.statement in reach_statement.go, and one of Variance.statement in varies.go. If a thread can leave a
// loop by the statement, ExitOf in flow.go must know it.
//
// A new operation: a case of walk.compute in reach_value.go. Without a case, the result of the operation can be anything. Variance.compute in varies.go needs a
// case only if the result can differ between threads although the operands do not.
//
// An operation on integers also needs a case of Narrow.compute in span.go if its range is smaller than that of its type. Narrow.uses in narrow.go must know what
// uses more than the low 32 bits of an operand; by default, all does.
//
// A new fact: a file of its own. A fact is added only when a printer needs it.
package facts
