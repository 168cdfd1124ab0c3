// Package facts finds out what is known about kernels. Each fact is a table, which one walk over the regions of a function computes; the walks know package
// ir, and of each other only what stands here.
//
//   - effects.go: what a function does with its parameters' memory, and whether it has barriers, which the other tables ask for.
//   - varies.go: between which threads a value differs, and which threads come to a barrier or leave a loop before others.
//   - flow.go: how a statement is left from inside, and which lists of conditions are long. value.go has questions about a single value.
//   - needs.go: where a function uses what not every device has.
//   - filled.go: which shared memory is written before any thread can read it.
//   - reach.go, reach_statement.go and reach_value.go follow a kernel, with all that it calls, as one thread. The result is each access of a slice: its
//     index as a sum of products of what a launch passes and of the thread's places, and what is known there. sum.go has these sums.
//   - bound.go: what a number is at most, by what a launch passes, and so how often a loop runs. rounds.go: how often all loops of a thread run.
//
// # Where things go
//
// A new statement of the representation: a case of walk.statement in reach_statement.go, and one of Variance.statement in varies.go. If a thread can leave a
// loop by it, ExitOf in flow.go must know it.
//
// A new operation: a case of walk.compute in reach_value.go. Without one, its result can be anything. Variance.compute in varies.go needs a case only if the
// result can differ between threads although the operands do not.
//
// A new fact: a file of its own, when a printer asks for it.
package facts
