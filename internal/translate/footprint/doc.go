// Package footprint writes what the generated file says about a kernel's launches: which elements the threads touch, how much work a thread does, and over
// which grid the kernel runs. It reads a kernel's facts, and prints Go.
//
//   - footprint.go writes the Go function that computes what the threads of a box touch. intervals.go writes the operations of gridgen.Interval in that function.
//   - footprint.go also finds along which dimensions a grid can be cut into parts that run at several places. proof.go compares the elements of different threads.
//   - said.go tells people what a kernel touches.
//   - over.go finds the grid. steps.go bounds the work of a thread.
//
// Package facts finds the elements that a thread touches. It follows the kernel as one thread whose numbers are not known.
//
// # Where things go
//
// A new statement or operation: its steps in counter.statement or counter.computed of steps.go. Package facts finds which elements the statement or operation
// touches. For an operation that is not a sum or product, the interval of its result may need a method of gridgen.Interval. Package facts then makes an atom with
// the name of the method, and proof.ofAtom needs a case if the result has bounds. A new target needs nothing here.
package footprint
