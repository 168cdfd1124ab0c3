// Package prints has kernels that print, for tests.
package prints

import "github.com/go-halyard/halyard/kernel/grid"

// halve stores half of each number, and prints those that are odd.
//
//halyard:kernel
func halve(t grid.Thread, x []int32, y grid.Out[int32]) {
	i := t.Global(0)
	if i >= len(x) {
		return
	}
	v := x[i]
	if v%2 != 0 {
		far := i*1_000_000_007 - 5
		grid.Println(t, "odd:", v, far, uint8(v), float32(v)/2, v > 4)
	}
	y[i] = v / 2
}

// turn turns the numbers of a block round, and prints each between two barriers.
//
//halyard:kernel uint32 float32
func turn[T grid.Number](t grid.Thread, x []T) {
	s := grid.Shared[[4]T](t)
	me := t.Local(0)
	s[3-me] = x[t.Global(0)]
	t.Barrier()
	v := s[me]
	grid.Println(t, t.Local(0), "has", v)
	t.Barrier()
	x[t.Global(0)] = v
}

// many prints a line for each thread.
//
//halyard:kernel
func many(t grid.Thread, x []int32) {
	if i := t.Global(0); i < len(x) {
		x[i] = int32(i)
		grid.Println(t, "line")
	}
}
