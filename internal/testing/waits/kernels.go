// Package waits has kernels that call functions with barriers, for tests.
package waits

import (
	"math/bits"

	"github.com/go-halyard/halyard/kernel/grid"
	"github.com/go-halyard/halyard/kernel/half"
)

// width is the size of the blocks.
const width = 64

// settle adds up the numbers in s, into s[0].
func settle(t grid.Thread, s *[width]float32) {
	for d := width / 2; d > 0; d /= 2 {
		t.Barrier()
		if t.Local(0) < d {
			s[t.Local(0)] += s[t.Local(0)+d]
		}
	}
	t.Barrier()
}

// sum returns the sum of the numbers v that the threads of a block have. It calls another function with barriers.
func sum(t grid.Thread, s *[width]float32, v float32) float32 {
	t.Barrier() // the threads may still read s
	s[t.Local(0)] = v
	settle(t, s)
	return s[0]
}

// sums stores the sum of each block's numbers, and of their squares.
//
//halyard:kernel
func sums(t grid.Thread, x []float32, y []float32) {
	s := grid.Shared[[width]float32](t)
	v, d := float32(0), float32(0.5)
	if t.Global(0) < len(x) {
		v = x[t.Global(0)]
	}
	total := sum(t, s, v+d)
	squares := sum(t, s, v*v)
	if t.Local(0) == 0 {
		y[2*t.Block(0)], y[2*t.Block(0)+1] = total, squares
	}
}

// scan returns the sum of the numbers v of the threads of a block up to this one, and the sum of all.
func scan[T grid.Number](t grid.Thread, s *[width]T, v T) (upTo, all T) {
	me := t.Local(0)
	s[me] = v
	t.Barrier()
	for d := 1; d < width; d *= 2 {
		var before T
		if me >= d {
			before = s[me-d]
		}
		t.Barrier()
		s[me] += before
		t.Barrier()
	}
	upTo, all = s[me], s[width-1]
	t.Barrier()
	return
}

// scans stores the sums of a block's numbers up to each, in several rounds: a block takes as many of them as count says.
//
//halyard:kernel int32 uint64
func scans[T grid.Number](t grid.Thread, x []T, count []int32, y []T) {
	s := grid.Shared[[width]T](t)
	me, n := t.Local(0), int(count[t.Block(0)])
	first, last := T(0), T(0)
	for k := 0; k < n; k++ {
		i := (t.Block(0)+k*t.Blocks(0))*width + me
		v, all := scan(t, s, x[i]+last)
		first += all
		y[i] = v + first
		_, last = scan[T](t, s, v)
	}
}

// keys are the numbers that a block sorts.
type keys [width]uint32

// compare takes one step of a bitonic sort: it compares elements d apart. It returns whether this thread swapped two.
func (k *keys) compare(t grid.Thread, size, d int) bool {
	i := t.Local(0)
	o := i ^ d
	swaps := false
	t.Barrier()
	if o > i && (k[i] > k[o]) == (i&size == 0) {
		k[i], k[o] = k[o], k[i]
		swaps = true
	}
	return swaps
}

// sort sorts the keys of a block, and returns how many this thread swapped.
func (k *keys) sort(t grid.Thread) (swaps int32) {
	for size := 2; size <= width; size *= 2 {
		for d := size / 2; d > 0; d /= 2 {
			swapped := k.compare(t, size, d)
			if swapped {
				swaps++
			}
		}
	}
	t.Barrier()
	return swaps
}

// sorts sorts each block's numbers, and stores how many each thread swapped.
//
//halyard:kernel
func sorts(t grid.Thread, x []uint32, y []uint32, swaps []int32) {
	k := grid.Shared[keys](t)
	at := t.Global(0)
	k[t.Local(0)] = x[at]
	swaps[at] = k.sort(t)
	y[at] = k[t.Local(0)]
}

// rotate gives each thread the number of the next, and counts the threads that it passes.
func rotate(t grid.Thread, s *[width]float32, v *float32, passed *int32, by int) {
	if by < 0 {
		by += width
	}
	s[t.Local(0)] = *v
	t.Barrier()
	*v = s[(t.Local(0)+by)%width]
	*passed += int32(by)
	t.Barrier()
}

// turns rotates the numbers of a block, through pointers to variables of a thread.
//
//halyard:kernel
func turns(t grid.Thread, by int32, x []float32, y []float32, passed []int32) {
	s := grid.Shared[[width]float32](t)
	v, n := x[t.Global(0)], int32(0)
	for r := range 3 {
		rotate(t, s, &v, &n, r-1)
		rotate(t, s, &v, &n, int(by))
		v += float32(r)
	}
	y[t.Global(0)], passed[t.Global(0)] = v, n
}

// pair has a method, which an array of the same numbers has not.
type pair [2]float32

func (p pair) both() float32 { return p[0] + 2*p[1] }

// swapped returns the numbers of a pair in the other order, from the next thread. It does not use x.
func swapped(t grid.Thread, s *[width]float32, p pair, x *[width]float32) pair {
	sums := [2]float32{p[1], p.both()}
	s[t.Local(0)] = sums[0]
	t.Barrier()
	next := [2]float32{s[(t.Local(0)+1)%width], sums[1]}
	t.Barrier()
	return next
}

// last returns the second number of a list that is passed as a value of any type.
func last[L any](t grid.Thread, list L) L {
	copied := [2]L{1: list}
	t.Barrier()
	return copied[1]
}

// flag is a bool with a method.
type flag bool

func (f flag) number() float32 {
	if f {
		return 0.5
	}
	return 3
}

// numbered is a slice with a method.
type numbered []float32

func (n numbered) add(v float32) { n[0] += v }

// above compares after a barrier.
func above(t grid.Thread, v, limit float32) flag {
	t.Barrier()
	return v > limit
}

// halves has the name T for another type than the kernel that calls it.
func halves[T grid.Number](t grid.Thread, v T) T {
	type list struct{ v T }
	a := last(t, [2]T{v / 2, v / 4})
	b := list{v / 8}
	c := last(t, b.v)
	return a[0] + a[1] + c
}

// types passes values whose types differ from those of the parameters, and types that consist of type parameters.
//
//halyard:kernel int32 float32
func types[T grid.Number](t grid.Thread, x []T, y []float32) {
	s := grid.Shared[[width]float32](t)
	unused := grid.Shared[[width]float32](t)
	i := t.Global(0)
	a := halves(t, x[i])
	b := halves(t, uint32(x[i]))
	p := swapped(t, s, [2]float32{float32(a), float32(b)}, unused)
	f := above(t, p.both(), 900)
	results := numbered(y[i : i+1])
	results[0] = p.both()
	results.add(f.number())
}

// rounds returns how many rounds a block takes.
func rounds(count []int32, block int) int { return int(count[block]) % 4 }

// chooses has barriers under conditions that are the same for all threads of a block, and in a loop whose number of rounds a function returns. Threads go on
// with the next round after its last barrier.
//
//halyard:kernel
func chooses(t grid.Thread, most int32, count []int32, x []float32, y []float32) {
	s := grid.Shared[[width]float32](t)
	me, v := t.Local(0), x[t.Global(0)]
	kind := count[t.Block(0)]
	if kind > 2 {
		v = sum(t, s, v)
		t.Barrier()
	} else if by := int(kind); kind > 0 && most != 3 {
		s[me] = v
		t.Barrier()
		v += s[(me+by)%width]
		t.Barrier()
	} else {
		v *= 2
	}
all:
	for k := 0; k < rounds(count, t.Block(0)); k++ {
		s[me] = v
		t.Barrier()
		next := s[(me+1)%width]
		if k%2 == 1 {
			t.Barrier()
			s[me] += 1
			t.Barrier()
			next += s[me/2]
		}
		t.Barrier()
		if me%3 == k {
			continue
		}
		for d := range 3 {
			if me%5 == d+k {
				continue all
			}
			v += float32(d)
		}
		v = next - v
	}
	y[t.Global(0)] = v
}

// added is the sum of two numbers of 16 bits.
func added(a, b half.Float16) half.Float16 { return half.ToFloat16(a.Float32() + b.Float32()) }

// rowed returns how many threads of the groups before this one have a condition. It is a function with operations of its own.
func rowed(t grid.Thread, condition bool) int {
	mine := grid.GroupCount(t, condition)
	if grid.GroupLane(t) != 0 {
		mine = 0
	}
	sum := grid.BlockScan(t, mine)
	first := grid.GroupShuffle(t, mine, 0)
	return sum - first
}

// combined stores what the threads of each block find out together: the sum of their numbers, once in 16 bits and once as complex numbers, and for each
// thread its place among those of the block whose number is above the mean.
//
//halyard:kernel
func combined(t grid.Thread, x []float32, halves grid.Out[half.Float16], sums grid.Out[complex64], places grid.Out[int32]) {
	i, v := t.Global(0), float32(0)
	if i < len(x) {
		v = x[i]
	}
	h := grid.BlockReduce(t, half.ToFloat16(v), added)
	sum := grid.BlockSum(t, complex(v, -2*v))
	above := v > real(sum)/float32(t.Size(0))
	at := rowed(t, above)
	ballot := grid.GroupBallot(t, above)
	places[i] = -1
	if above {
		places[i] = int32(at+bits.OnesCount32(ballot<<(31-grid.GroupLane(t)))) - 1
	}
	if t.Local(0) == 0 {
		halves[t.Block(0)], sums[t.Block(0)] = h, sum
	}
}
