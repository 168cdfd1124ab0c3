// Package picks has the kernels with which package algo picks some of the elements of a buffer. Each block takes a chunk of them.
package picks

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

import "github.com/go-halyard/halyard/kernel/grid"

const (
	threads = 256 // of a block, and values of a digit
	each    = 8   // elements of a thread
	chunk   = threads * each
	bits    = 8 // of a digit of a rank
)

// gather writes the elements that are kept, of some words each, or their places if x has no elements, as far as kept has room. starts has
// the number of kept elements before each chunk. ends gets their number up to the end of each chunk, or, if it has one element, up to the
// end of the last chunk. So without starts and kept the kernel only counts.
//
//halyard:kernel
func gather(t grid.Thread, words int, x []uint32, keep []bool, starts []int64, kept []uint32, ends grid.Out[int64]) {
	begin := min(t.Block(0)*chunk+t.Local(0)*each, len(keep))
	end, n := min(begin+each, len(keep)), uint32(0)
	for i := begin; i < end; i++ {
		if keep[i] {
			n++
		}
	}
	before := grid.BlockExclusiveScan(t, n)
	at := int(before)
	if len(starts) > 0 {
		at += int(starts[t.Block(0)])
	}
	if last := t.Block(0) + len(ends) - t.Blocks(0); last >= 0 && t.Local(0) == threads-1 {
		ends[last] = int64(at) + int64(n)
	}
	for i := begin; i < end && at*words < len(kept); i++ {
		if keep[i] {
			for w := range words {
				v := uint32(i)
				if len(x) > 0 {
					v = x[i*words+w]
				}
				kept[at*words+w] = v
			}
			at++
		}
	}
}

// Order says how elements of one or two words are ordered. Sign is the bit that says whether an element is less than 0, and Negative the
// bits that are turned in such an element. Infinity are the bits of the largest number, above which are those of NaNs; High is the place of
// the word with the sign.
type Order struct {
	Sign, Negative, Infinity uint64
	Words, High              int32
}

// rank returns a number that is less for a larger element. It is 0 for a NaN, and the same for -0 and 0.
func rank(o Order, x []uint32, i int) uint64 {
	key, last := uint64(x[i*int(o.Words)]), uint64(1<<32-1)
	if o.Words == 2 {
		key, last = uint64(x[2*i+int(o.High)])<<32|uint64(x[2*i+1-int(o.High)]), 1<<64-1
	}
	turned := o.Sign
	switch {
	case key&^o.Sign > o.Infinity:
		return 0
	case key == o.Sign && o.Sign != o.Negative: // -0
		key = 0
	case key&o.Sign != 0:
		turned = o.Negative
	}
	return last - (key ^ turned)
}

// The kernels below find the rank and the place of the last one of k elements: digit by digit, those of the rank first. Each step has its
// own counts. In the other slices, index step has what is known before a step, and index step+1 what is known after it.

// digit counts the values of one digit: in the first steps that of the ranks that begin with the digits known so far, and then that of the
// places of the elements that have the known rank.
//
//halyard:kernel
func digit(t grid.Thread, o Order, step, steps int, shift uint32, x []uint32, ranks, places []uint64, counts []uint32) {
	own := grid.Shared[[threads]uint32](t)
	me, from := t.Local(0), t.Block(0)*chunk
	for i := from + me; i < min(from+chunk, len(x)/int(o.Words)); i += threads {
		v, known := rank(o, x, i), ranks[min(step, steps)]
		if step >= steps {
			if v != known {
				continue
			}
			v, known = uint64(i), places[step]
		}
		if v>>shift>>bits == known {
			grid.AtomicAdd(&own[v>>shift&(threads-1)], 1)
		}
	}
	t.Barrier()
	if own[me] > 0 {
		grid.AtomicAdd(&counts[step*threads+me], own[me])
	}
}

// choose adds the digit that was counted to those that are known. less counts the elements that come before all those with these digits.
//
//halyard:kernel
func choose(t grid.Thread, k uint32, step int, counts, less []uint32, known []uint64) {
	me, n := t.Global(0), less[step]
	for d := range me {
		n += counts[step*threads+d]
	}
	if n < k && k <= n+counts[step*threads+me] {
		known[step+1] = known[step]<<bits | uint64(me)
		less[step+1] = n
	}
}

// mark keeps the elements up to the last one.
//
//halyard:kernel
func mark(t grid.Thread, o Order, steps, all int, x []uint32, ranks, places []uint64, keep grid.Out[bool]) {
	if i := t.Global(0); i < len(keep) {
		r := rank(o, x, i)
		keep[i] = r < ranks[steps] || r == ranks[steps] && uint64(i) <= places[all]
	}
}

// fetch writes the ranks of elements, if ranks has room for them, and the elements and their places, if indexes has.
//
//halyard:kernel
func fetch(t grid.Thread, o Order, x, places []uint32, ranks grid.Out[uint64], values grid.Out[uint32], indexes grid.Out[int64]) {
	if j := t.Global(0); j < len(places) {
		i, words := int(places[j]), int(o.Words)
		if j < len(ranks) {
			ranks[j] = rank(o, x, i)
		}
		if j < len(indexes) {
			indexes[j] = int64(i)
			for w := range words {
				values[j*words+w] = x[i*words+w]
			}
		}
	}
}
