// Package limits has kernels in Go that come to the limits of drivers, such as programs with many rounds of loops, and to their faults.
//
//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .
package limits

import (
	"math"

	"github.com/go-halyard/halyard/kernel/grid"
)

// once takes n rounds of one loop.
//
//halyard:kernel
func once(t grid.Thread, n int32, x []int32) {
	i := t.Global(0)
	if i >= len(x) {
		return
	}
	for range n {
		x[i]++
	}
}

// twice takes n*m rounds of a loop in another.
//
//halyard:kernel
func twice(t grid.Thread, n, m int32, x []int32) {
	i := t.Global(0)
	if i >= len(x) {
		return
	}
	for range n {
		for range m {
			x[i]++
		}
	}
}

// apart takes rounds that differ from thread to thread, so that those of threads which run in step are more than those of each.
//
//halyard:kernel
func apart(t grid.Thread, n int32, x []int32) {
	i := t.Global(0)
	if i >= len(x) {
		return
	}
	for k := range int32(8) {
		m := int32(1)
		if k == int32(i)%8 {
			m = n
		}
		for range m {
			x[i]++
		}
		if x[i] < 0 {
			return
		}
	}
}

// Of neighbours, so many are found.
const nearest = 10

// neighbours finds the nearest vectors of dims numbers to each query, among those from first to last. best and at have those of earlier calls.
//
//halyard:kernel
func neighbours(t grid.Thread, vectors, queries []float32, dims, first, last int32, best []float32, at []int32) {
	q := t.Global(0)
	if q >= len(best)/nearest {
		return
	}
	var near [nearest]float32
	var who [nearest]int32
	for k := range nearest {
		near[k], who[k] = best[q*nearest+k], at[q*nearest+k]
	}
	for v := first; v < last; v++ {
		sum := float32(0)
		for d := range dims {
			diff := vectors[int(v*dims+d)] - queries[q*int(dims)+int(d)]
			sum += diff * diff
		}
		if sum >= near[nearest-1] {
			continue
		}
		k := nearest - 1
		for ; k > 0 && near[k-1] > sum; k-- {
			near[k], who[k] = near[k-1], who[k-1]
		}
		near[k], who[k] = sum, v
	}
	for k := range nearest {
		best[q*nearest+k], at[q*nearest+k] = near[k], who[k]
	}
}

// queens counts the ways to place n queens. The columns of the first two are the thread's.
//
//halyard:kernel
func queens(t grid.Thread, n int32, ways []int32) {
	i := t.Global(0)
	if i >= len(ways) {
		return
	}
	all := int32(1)<<n - 1
	var columns, left, right, free [32]int32
	first, second := int32(1)<<(int32(i)/n), int32(1)<<(int32(i)%n)
	columns[2] = first | second
	left[2], right[2] = (first<<1|second)<<1, (first>>1|second)>>1
	count, row := int32(0), int32(2)
	free[2] = all &^ (columns[2] | left[2] | right[2])
	if second&(first|first<<1|first>>1) != 0 {
		row = 1
	}
	for row >= 2 {
		if free[row] == 0 {
			row--
			continue
		}
		queen := free[row] & -free[row]
		free[row] &^= queen
		if row == n-1 {
			count++
			continue
		}
		columns[row+1] = columns[row] | queen
		left[row+1], right[row+1] = (left[row]|queen)<<1, (right[row]|queen)>>1
		row++
		free[row] = all &^ (columns[row] | left[row] | right[row])
	}
	ways[i] = count
}

// inside counts how many of n points of a square are in the circle.
//
//halyard:kernel
func inside(t grid.Thread, n int32, hits []uint32) {
	i := t.Global(0)
	if i >= len(hits) {
		return
	}
	state := uint32(i)*747796405 + 2891336453
	count := uint32(0)
	for range n {
		state = state*1664525 + 1013904223
		x := state >> 17
		state = state*1664525 + 1013904223
		y := state >> 17
		if x*x+y*y < 1<<30 {
			count++
		}
	}
	hits[i] = count
}

// numbers is nearly as much as the arguments of a launch may have.
type numbers struct {
	first   int32
	between [990]int32
	last    int64
}

// passed says what is at the ends of its argument.
//
//halyard:kernel
func passed(t grid.Thread, v numbers, x []int64) {
	if i := t.Global(0); i < len(x) {
		x[i] = v.last - int64(v.first) + int64(v.between[989])
	}
}

type list struct{ of [8]int32 }

// chosen has each thread take an element of its own.
//
//halyard:kernel
func chosen(t grid.Thread, v list, x []int32) {
	if i := t.Global(0); i < len(x) {
		if x[i] > 0 {
			x[i] = v.of[i&7]
		}
	}
}

// copied takes x[i] rounds of loops that only copy, and uses the copies after a barrier.
//
//halyard:kernel
func copied(t grid.Thread, x []uint32, y []int64) {
	i := t.Global(0)
	var n uint32
	if i < len(x) {
		n = x[i]
	}
	last, step, small := int64(0), int64(0), int64(0)
	for k := range int64(n) {
		last = k
	}
	for k := int64(0); k < int64(n); k += 2 {
		step = k
	}
	for k := range n {
		small = int64(k)
	}
	a, b := int64(1), int64(2)
	for range n {
		a, b = b, a
	}
	c, d, e := int64(3), int64(4), int64(5)
	for k := range int64(n) {
		c, d, e = d, e, k
		if k > 4 {
			break
		}
	}
	stop, at := false, int64(0)
	for k := int64(0); k < 8 && !stop; k++ {
		stop, at = k == int64(n), k
	}
	sum := int64(0)
	for k := range int64(3) {
		inner := k
		for m := range int64(n) {
			inner = m
		}
		sum += inner
	}
	t.Barrier()
	if i < len(x) {
		y[i] = last + 10*step + 100*small + 1000*a + 10000*b + 100000*c + 1000000*d + 10000000*e + 100000000*at + 1000000000*sum
	}
}

// roots takes the sizes of roots: the root of -0 is -0.
//
//halyard:kernel
func roots(t grid.Thread, x, y []float32) {
	if i := t.Global(0); i < len(x) {
		y[i] = float32(math.Abs(math.Sqrt(float64(x[i]))))
	}
}

type record struct {
	tag  int16
	on   uint8
	was  float32
	list [2]uint32
	is   float64
}

// renewed replaces a record by one that is made of it.
//
//halyard:kernel
func renewed(t grid.Thread, x []uint32, e []record) {
	if i := t.Global(0); i < len(e) {
		e[i] = record{is: float64(e[i].was), list: [2]uint32{1: x[i]}}
	}
}
