// Package sized has kernels whose shared memory has the length that a launch says, for tests.
package sized

import "github.com/go-halyard/halyard/kernel/grid"

// mean is a mean of neighbours, from those behind the element to those in front of it.
func mean(s []float32, at, radius int) float32 {
	sum := float32(0)
	for _, v := range s[at : at+2*radius+1] {
		sum += v
	}
	return sum / float32(2*radius+1)
}

// blur stores the means of neighbours. A block of tile threads reads its numbers, and those beside them, once.
//
//halyard:kernel
func blur(t grid.Thread, tile, radius int, x []float32, y grid.Out[float32]) {
	s := grid.SharedSlice[float32](t, tile+2*radius)
	first := t.Block(0)*tile - radius
	for i := t.Local(0); i < len(s); i += t.Size(0) {
		if at := first + i; at >= 0 && at < len(x) {
			s[i] = x[at]
		}
	}
	t.Barrier()
	y[t.Global(0)] = mean(s, t.Local(0), radius)
}

// histogram counts numbers, first for each block. The block's counts begin at zero.
//
//halyard:kernel
func histogram(t grid.Thread, x []uint8, counts []uint32) {
	own := grid.SharedSlice[uint32](t, len(counts))
	if i := t.Global(0); i < len(x) {
		grid.AtomicAdd(&own[int(x[i])%len(own)], 1)
	}
	t.Barrier()
	for i := t.Local(0); i < len(own); i += t.Size(0) {
		grid.AtomicAdd(&counts[i], own[i])
	}
}

type pair struct {
	key   int16
	value [2]float32
	first bool
}

// turn stores the pairs of a block in the other order, with what they have become in memory of the block that has another length and a fixed one.
//
//halyard:kernel
func turn(t grid.Thread, n int32, x []float32, y grid.Out[float32]) {
	pairs := grid.SharedSlice[pair](t, int(n)/2*2)
	fixed := grid.Shared[[64]int32](t)
	low, high := pairs[:len(pairs)/2], pairs[len(pairs)/2:]
	me := t.Local(0)
	if me < len(low) {
		low[me] = pair{int16(me), [2]float32{x[t.Global(0)], 1}, me == 0}
		fixed[me%64]++
	}
	t.Barrier()
	if me < len(high) {
		p := low[len(low)-1-me]
		p.value[1] += float32(p.key)
		high[me] = p
		if p.first {
			high[me].value[0] = -high[me].value[0]
		}
	}
	t.Barrier()
	y[t.Global(0)] = -1
	if me < len(high) {
		y[t.Global(0)] = high[me].value[0] + high[me].value[1] + float32(fixed[me%64])
	}
}

// running stores the sums of a block's numbers up to each.
//
//halyard:kernel int32 float32 uint64
func running[T grid.Number](t grid.Thread, tile int, x, y []T) {
	s := grid.SharedSlice[T](t, max(tile, 1)*2-tile)
	me := t.Local(0)
	s[me] = x[t.Global(0)]
	t.Barrier()
	for d := 1; d < len(s); d *= 2 {
		var before T
		if me >= d {
			before = s[me-d]
		}
		t.Barrier()
		s[me] += before
		t.Barrier()
	}
	y[t.Global(0)] = s[me]
}

// sum adds numbers to a float of the block.
//
//halyard:kernel
func sum(t grid.Thread, n int, x []float32, y []float32) {
	s := grid.SharedSlice[float32](t, n+1)
	grid.AtomicAdd(&s[t.Local(0)%(n+1)], x[t.Global(0)])
	t.Barrier()
	y[t.Global(0)] = s[n]
}

// settle adds up the numbers in s, into s[0]. It has barriers.
func settle(t grid.Thread, s []int32) {
	for d := 1; d < len(s); d *= 2 {
		t.Barrier()
		if i := t.Local(0) * 2 * d; i+d < len(s) {
			s[i] += s[i+d]
		}
	}
	t.Barrier()
}

// total stores a block's sum of the numbers of its first n threads, by a function with barriers.
//
//halyard:kernel
func total(t grid.Thread, n int, x []int32, y []int32) {
	s := grid.SharedSlice[int32](t, min(n, 1<<10))
	if i := t.Local(0); i < len(s) {
		s[i] = x[t.Global(0)]
	}
	settle(t, s)
	if t.Local(0) == 0 {
		y[t.Block(0)] = s[0]
	}
}

// beyond reads an element behind the last, which HALYARD_CHECK=bounds finds.
//
//halyard:kernel
func beyond(t grid.Thread, n int, y []int32) {
	s := grid.SharedSlice[int32](t, n)
	if t.Local(0) > 0 { // thread 0 leaves the first element to what is not in range
		s[t.Local(0)] = 1
	}
	t.Barrier()
	y[t.Global(0)] = s[n-1]
}
