package algo

import (
	"encoding/binary"
	"unsafe"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/algo/internal/picks"
	"github.com/go-halyard/halyard/kernel/grid"
)

// Compact writes the elements x[i] for which keep[i] is true to the beginning of kept, in their order, and how many they are into number,
// which has one element. keep has as many elements as x, and a kernel may write it. If kept has too little room, it gets the first of
// these elements, and number still counts all of them. The rest of kept stays as it was. The elements are numbers of 32
// or 64 bits, or structures or arrays that have such numbers. x and keep share no memory with kept and number, and kept shares none with
// number.
func Compact[T buffer.Element](q kernel.Queue, x kernel.Vector[T], keep kernel.Vector[bool], kept kernel.Vector[T], number kernel.Vector[int64]) {
	start(q, "Compact", func(w *work) {
		var zero T
		w.check(unsafe.Alignof(zero)%4 == 0, "elements of type %T have no number of 32 or 64 bits; keep the indexes, in a buffer of int32", zero)
		w.check(kernel.Len(keep) == kernel.Len(x), "keep has %d elements, and x has %d", kernel.Len(keep), kernel.Len(x))
		w.check(kernel.Len(number) == 1, "number has %d elements, and the result is one; pass a slice", kernel.Len(number))
		w.apart("kept", "x", kept, x)
		w.apart("kept", "keep", kept, keep)
		w.apart("number", "x", number, x)
		w.apart("number", "keep", number, keep)
		w.apart("number", "kept", number, kept)
		compact(w, int(unsafe.Sizeof(zero)/4), inWords(x), keep, inWords(kept), number)
	})
}

// compact writes the elements that are kept, each of size words, or their places if x has no elements.
func compact(w *work, size int, x kernel.Vector[uint32], keep kernel.Vector[bool], kept kernel.Vector[uint32], number kernel.Vector[int64]) {
	n := max(1, kernel.Len(keep)) // without elements there is still one block, which writes the number 0
	starts, none := temporary[int64](w, 0), temporary[uint32](w, 0)
	if n > chunk {
		starts = temporary[int64](w, count(n, chunk))
		w.launch(n, func(g hal.Grid) error {
			return picks.GatherOn(w.ctx, w.on, g, size, none, keep, temporary[int64](w, 0), none, starts)
		})
		scan(w, 1, starts, starts)
	}
	w.launch(n, func(g hal.Grid) error { return picks.GatherOn(w.ctx, w.on, g, size, x, keep, starts, kept, number) })
}

// TopK writes the largest elements of x into values, as many as values has, the largest first, and their indexes into indexes. Of equal
// elements, which -0 and 0 are, it takes the first, and writes them in the order of their indexes. As for [Max], a NaN comes before any
// number: replace NaN in x first if you do not want it. For the least elements pass -x, computed by a kernel of your own. x has at least as
// many elements as values, and fewer than 2³². indexes may be nil if nobody wants them. Values and indexes share no memory with x, nor with
// each other. While it works it needs a byte of memory on the device for each element of x.
func TopK[T grid.Number](q kernel.Queue, x, values kernel.Vector[T], indexes kernel.Vector[int64]) {
	start(q, "TopK", func(w *work) {
		n, k := kernel.Len(x), kernel.Len(values)
		if indexes == nil {
			indexes = temporary[int64](w, k)
		}
		w.check(k <= n, "values has %d elements, and x has %d; pass a slice", k, n)
		w.check(uint64(n) < 1<<32, "x has %d elements; pass slices of fewer than 2³²", n)
		w.check(kernel.Len(indexes) == k, "indexes has %d elements, and values has %d", kernel.Len(indexes), k)
		w.apart("values", "x", values, x)
		w.apart("indexes", "x", indexes, x)
		w.apart("indexes", "values", indexes, values)
		if k > 0 && w.err == nil {
			top(w, orderOf[T](), inWords(x), inWords(values), indexes)
		}
	})
}

// top finds the rank and the index of the last element that is taken, digit by digit, keeps all up to it, and sorts these.
func top(w *work, o picks.Order, x, values kernel.Vector[uint32], indexes kernel.Vector[int64]) {
	n, k := kernel.Len(x)/int(o.Words), kernel.Len(indexes)
	steps := 4 * int(o.Words) // one for each byte of a rank; the steps for the bytes of an index follow
	all := steps
	for last := n - 1; last > 0; last >>= 8 {
		all++
	}
	ranks, places := zeros[uint64](w, all+1), zeros[uint64](w, all+1) // what is known before each step
	counts, less := zeros[uint32](w, all*threads), zeros[uint32](w, all+1)
	for step := range all {
		known, last := ranks, steps
		if step >= steps {
			known, last = places, all
		}
		shift := 8 * uint32(last-1-step)
		w.launch(n, func(g hal.Grid) error {
			return picks.DigitOn(w.ctx, w.on, g, o, step, steps, shift, x, ranks, places, counts)
		})
		w.launch(1, func(g hal.Grid) error {
			return picks.ChooseOn(w.ctx, w.on, g, uint32(k), step, counts, less, known)
		})
	}
	keep, taken := temporary[bool](w, n), temporary[uint32](w, k)
	w.enqueue(hal.Over(n), func(g hal.Grid) error { return picks.MarkOn(w.ctx, w.on, g, o, steps, all, x, ranks, places, keep) })
	compact(w, 1, temporary[uint32](w, 0), keep, taken, temporary[int64](w, 1))
	order := temporary[uint64](w, k)
	noRanks, noValues, noIndexes := temporary[uint64](w, 0), temporary[uint32](w, 0), temporary[int64](w, 0)
	w.enqueue(hal.Over(k), func(g hal.Grid) error {
		return picks.FetchOn(w.ctx, w.on, g, o, x, taken, order, noValues, noIndexes)
	})
	sortWords(w, order, taken, 0, 0, 4*int(o.Words))
	w.enqueue(hal.Over(k), func(g hal.Grid) error {
		return picks.FetchOn(w.ctx, w.on, g, o, x, taken, noRanks, values, indexes)
	})
}

// orderOf returns the order of the elements of type T.
func orderOf[T grid.Number]() picks.Order {
	o := picks.Order{Infinity: 1<<64 - 1, Words: int32(unsafe.Sizeof(T(0)) / 4)}
	o.High = int32(binary.NativeEndian.Uint16([]byte{0, 1}) >> 8) // 1 where the word of the higher bits comes second
	switch any(T(0)).(type) {
	case float32:
		o.Sign, o.Negative, o.Infinity = 1<<31, 1<<32-1, 0xff<<23
	case float64:
		o.Sign, o.Negative, o.Infinity = 1<<63, 1<<64-1, 0x7ff<<52
	case int32:
		o.Sign, o.Negative = 1<<31, 1<<31
	case int64:
		o.Sign, o.Negative = 1<<63, 1<<63
	}
	return o
}

// inWords returns the words of 32 bits of the elements of a vector.
func inWords[T any](x kernel.Vector[T]) kernel.Vector[uint32] {
	if x == nil {
		return nil
	}
	return words[T, uint32]{x}
}
