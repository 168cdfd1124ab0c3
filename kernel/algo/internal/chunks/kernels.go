// Package chunks has the kernels of package algo. Each block takes a chunk of the elements.
package chunks

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

import "github.com/go-halyard/halyard/kernel/grid"

const (
	threads = 256 // of a block
	each    = 8   // elements of a thread
	chunk   = threads * each
	digits  = 16 // of a key, for one step of a sort
)

// Word is the type of the bits of a key.
type Word interface{ uint32 | uint64 }

// total writes the sum of each chunk of size elements.
//
//halyard:kernel float32 float64 int32 int64 uint32 uint64
func total[T grid.Number](t grid.Thread, size int, x []T, sums grid.Out[T]) {
	from, sum := t.Block(0)*size, T(0)
	for i := from + t.Local(0); i < min(from+size, len(x)); i += threads {
		sum += x[i]
	}
	all := grid.BlockSum(t, sum)
	if t.Local(0) == 0 {
		sums[t.Block(0)] = all
	}
}

// dot writes the sum of the products of each chunk of size elements.
//
//halyard:kernel float32 float64 int32 int64 uint32 uint64
func dot[T grid.Number](t grid.Thread, size int, x, y []T, sums grid.Out[T]) {
	from, sum := t.Block(0)*size, T(0)
	for i := from + t.Local(0); i < min(from+size, len(x)); i += threads {
		sum += T(x[i] * y[i])
	}
	all := grid.BlockSum(t, sum)
	if t.Local(0) == 0 {
		sums[t.Block(0)] = all
	}
}

// extreme writes the least or the most of each chunk, and its index. The index of x[i] is indexes[i], or i if there are no indexes.
//
//halyard:kernel float32 float64 int32 int64 uint32 uint64
func extreme[T grid.Number](t grid.Thread, most int32, x []T, indexes []int64, values grid.Out[T], at grid.Out[int64]) {
	best := grid.Shared[[threads]T](t)
	where := grid.Shared[[threads]int64](t)
	me, from := t.Local(0), t.Block(0)*chunk
	v, index := T(0), int64(-1)
	for i := from + me; i < min(from+chunk, len(x)); i += threads {
		w, other := x[i], int64(i)
		if len(indexes) > 0 {
			other = indexes[i]
		}
		if wins(most != 0, w, other, v, index) {
			v, index = w, other
		}
	}
	best[me], where[me] = v, index
	for half := threads / 2; half > 0; half /= 2 {
		t.Barrier()
		if me < half && wins(most != 0, best[me+half], where[me+half], best[me], where[me]) {
			best[me], where[me] = best[me+half], where[me+half]
		}
	}
	if me == 0 {
		values[t.Block(0)], at[t.Block(0)] = best[0], where[0]
	}
}

// wins reports whether v with index i is to be taken rather than w with index j: a NaN first, then the lesser or the larger number, then
// the one that comes first. An index of -1 says that there is no element.
func wins[T grid.Number](most bool, v T, i int64, w T, j int64) bool {
	switch {
	case i < 0 || j < 0:
		return j < 0 && i >= 0
	case v != v || w != w: // a NaN
		return v != v && (w == w || i < j)
	case v == w:
		return i < j
	case most:
		return v > w
	}
	return v < w
}

// scan makes sums[i] the sum of the elements up to x[i], without x[i] itself if exclusive is not 0. before has the sum of all elements
// before each chunk; it is empty if there is one chunk.
//
//halyard:kernel float32 float64 int32 int64 uint32 uint64
func scan[T grid.Number](t grid.Thread, exclusive int32, x, before []T, sums grid.Out[T]) {
	tile := grid.Shared[[chunk]T](t)
	me, from := t.Local(0), t.Block(0)*chunk
	for i := me; i < min(chunk, len(x)-from); i += threads {
		tile[i] = x[from+i]
	}
	t.Barrier()
	own := T(0)
	for i := me * each; i < me*each+each; i++ {
		own += tile[i]
	}
	sum := grid.BlockExclusiveScan(t, own)
	if len(before) > 0 {
		sum += before[t.Block(0)]
	}
	for i := me * each; i < me*each+each; i++ {
		v := tile[i]
		if exclusive != 0 {
			tile[i] = sum
		}
		sum += v
		if exclusive == 0 {
			tile[i] = sum
		}
	}
	t.Barrier()
	for i := me; i < min(chunk, len(x)-from); i += threads {
		sums[from+i] = tile[i]
	}
}

// count writes how many keys of each chunk have each digit: all counts of digit 0, then those of digit 1, and so on.
//
//halyard:kernel uint32 uint64
func count[W Word](t grid.Thread, shift uint32, sign, negative W, keys []W, counts grid.Out[uint32]) {
	own := grid.Shared[[digits]uint32](t)
	me, from := t.Local(0), t.Block(0)*chunk
	for i := from + me; i < min(from+chunk, len(keys)); i += threads {
		grid.AtomicAdd(&own[digit(keys[i], shift, sign, negative)], 1)
	}
	t.Barrier()
	if me < digits {
		counts[me*t.Blocks(0)+t.Block(0)] = own[me]
	}
}

// digit returns four bits of a number that is ordered as the keys are. sign is the bit that says whether a key is less than 0. The number is the key with the
// bits in negative inverted if it has that bit, and with that bit inverted if not. So -0 comes before 0, and a NaN first or last, as its sign says.
func digit[W Word](key W, shift uint32, sign, negative W) int {
	if key&sign == 0 {
		negative = sign
	}
	return int((key ^ negative) >> shift & (digits - 1))
}

// scatter writes each key to its place: after all keys with a lesser digit, and after the keys with the same digit that come before it.
// starts says where the keys of each digit and chunk begin. The values, if there are any, move with their keys.
//
//halyard:kernel uint32 uint64
func scatter[W Word](t grid.Thread, shift uint32, sign, negative W, keys []W, values, starts []uint32, sorted grid.Out[W], sortedValues grid.Out[uint32]) {
	table := grid.Shared[[digits * threads]uint32](t) // counts of each digit by thread, later how many keys of the chunk come before these
	first := grid.Shared[[digits]uint32](t)
	me, from := t.Local(0), t.Block(0)*chunk
	begin, end := min(from+me*each, len(keys)), min(from+me*each+each, len(keys))
	for i := begin; i < end; i++ {
		table[digit(keys[i], shift, sign, negative)*threads+me]++
	}
	t.Barrier()
	own := uint32(0)
	for i := me * digits; i < me*digits+digits; i++ {
		own += table[i]
	}
	sum := grid.BlockExclusiveScan(t, own)
	for i := me * digits; i < me*digits+digits; i++ {
		n := table[i]
		table[i] = sum
		sum += n
	}
	t.Barrier()
	if me < digits {
		first[me] = table[me*threads] - starts[me*t.Blocks(0)+t.Block(0)]
	}
	t.Barrier()
	for i := begin; i < end; i++ {
		d := digit(keys[i], shift, sign, negative)
		at := table[d*threads+me] - first[d]
		table[d*threads+me]++
		sorted[at] = keys[i]
		if len(values) > 0 {
			sortedValues[at] = values[i]
		}
	}
}
