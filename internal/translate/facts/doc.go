// Package facts finds out what is known about kernels. Each fact is a table, which one walk over the regions of a function computes; the walks know package
// ir, and of each other only what stands here.
//
//   - effects.go: what a function does with its parameters' memory, and whether it has barriers, which the other tables ask for; who may change a place
//     between two uses by a thread.
//   - varies.go: between which threads a value differs, and which threads come to a barrier or leave a loop before others.
//   - ranges.go: the least and the most that an integer can be.
//   - flow.go: how loops are left, and what is used behind a barrier.
//   - reach.go, reach_statement.go and reach_value.go follow a kernel, with all that it calls, as one thread. The result is each access of a slice: its
//     index as a sum of products of what a launch passes and of the thread's places, and what is known there. sum.go has these sums.
//   - bound.go: what a number is at most, by what a launch passes, and so how often a loop runs. rounds.go: how often all loops of a thread run.
package facts
