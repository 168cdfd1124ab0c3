// Package algo has algorithms that are ready to call: sums, dot products, least and largest elements, scans, sorts, histograms, and what a
// filter keeps. They are kernels in Go, so they run on the host and on every device:
//
//	x, sum := halyard.From(q, numbers), halyard.New[float32](q, 1)
//	algo.Sum(q, x, sum)        // does not wait
//	fmt.Println(sum.At(0))     // waits
//
// A result is an element of a buffer, so that the next kernel can use it without a wait. x may be a *halyard.Buffer, a *buffer.Buffer or an
// *array.Array; q is a *halyard.Queue, which keeps the first error, or what halyard.On makes of a stream. What the queue's Over and Grid
// set is ignored. The function of [halyard.Queue.Record] may call all functions. Over several devices Sum, Dot, Min and Max are
// divided, and the others run on the first one.
//
// A function needs memory on the device for the time that it works: that of a sort is as large as what is sorted; a scan needs one element
// in 2048. The memory is freed as soon as the work has finished, or when the step is closed.
//
// Floats are added in an order that depends only on how many there are. So a sum has the same bits in each run, and on every device.
package algo

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels ./internal/...

import (
	"unsafe"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/algo/internal/chunks"
	"github.com/go-halyard/halyard/kernel/grid"
)

// What the kernels expect: the threads of a block, the elements of a block, and the digits of a step of a sort.
const (
	threads = 256
	chunk   = 8 * threads
	large   = 4 * chunk // of a sum
	bits    = 4
	digits  = 1 << bits
)

// Sum writes the sum of the elements of x into sum, which has one element and may be one of x. The sum is 0 if x has none. Sums of integers
// wrap around.
func Sum[T grid.Number](q kernel.Queue, x, sum kernel.Vector[T]) {
	start(q, "Sum", func(w *work) {
		w.divide()
		w.check(kernel.Len(sum) == 1, "sum has %d elements, and the result is one; pass a slice", kernel.Len(sum))
		total(w, x, sum)
	})
}

// Dot writes the sum of the products of the elements of x and y into sum, which has one element and may be one of x or y. The sum is 0 if
// they have none. Each product is rounded before it is added; the sum is that of [Sum] of the products. x and y have equally many elements,
// and may be the same. Integers wrap around.
func Dot[T grid.Number](q kernel.Queue, x, y, sum kernel.Vector[T]) {
	start(q, "Dot", func(w *work) {
		w.divide()
		n := kernel.Len(x)
		w.check(kernel.Len(y) == n, "y has %d elements, and x has %d", kernel.Len(y), n)
		w.check(kernel.Len(sum) == 1, "sum has %d elements, and the result is one; pass a slice", kernel.Len(sum))
		if n <= large {
			w.enqueue(single, func(g hal.Grid) error { return chunks.DotOn(w.ctx, w.on, g, large, x, y, sum) })
			return
		}
		sums := temporary[T](w, count(n, large))
		w.enqueue(hal.Blocks(kernel.Len(sums)).Of(threads), func(g hal.Grid) error { return chunks.DotOn(w.ctx, w.on, g, large, x, y, sums) })
		total(w, sums, sum)
	})
}

// total sums chunks, and then these sums, until there is one.
func total[T grid.Number](w *work, x, sum kernel.Vector[T]) {
	for n := kernel.Len(x); n > large; n = kernel.Len(x) {
		part, sums := x, temporary[T](w, count(n, large))
		w.enqueue(hal.Blocks(kernel.Len(sums)).Of(threads), func(g hal.Grid) error { return chunks.TotalOn(w.ctx, w.on, g, large, part, sums) })
		x = sums
	}
	w.enqueue(single, func(g hal.Grid) error { return chunks.TotalOn(w.ctx, w.on, g, large, x, sum) })
}

// Min writes the least element of x into value, and its index into index. Both have one element; value may be one of x. Of equal elements
// it takes the first. A NaN is taken before any number. If x has no elements the index is -1. index may be nil if nobody wants it.
func Min[T grid.Number](q kernel.Queue, x, value kernel.Vector[T], index kernel.Vector[int64]) {
	start(q, "Min", func(w *work) { extreme(w, 0, x, value, index) })
}

// Max is like [Min] for the largest element.
func Max[T grid.Number](q kernel.Queue, x, value kernel.Vector[T], index kernel.Vector[int64]) {
	start(q, "Max", func(w *work) { extreme(w, 1, x, value, index) })
}

func extreme[T grid.Number](w *work, most int32, x, value kernel.Vector[T], index kernel.Vector[int64]) {
	w.divide()
	w.check(kernel.Len(value) == 1, "value has %d elements, and the result is one; pass a slice", kernel.Len(value))
	if index == nil {
		index = temporary[int64](w, 1)
	}
	w.check(kernel.Len(index) == 1, "index has %d elements, and the result is one; pass a slice", kernel.Len(index))
	w.apart("index", "value", index, value)
	w.apart("index", "x", index, x)
	indexes := temporary[int64](w, 0)
	for n := kernel.Len(x); n > chunk; n = kernel.Len(x) {
		values, at := temporary[T](w, count(n, chunk)), temporary[int64](w, count(n, chunk))
		w.launch(n, func(g hal.Grid) error { return chunks.ExtremeOn(w.ctx, w.on, g, most, x, indexes, values, at) })
		x, indexes = values, at
	}
	w.launch(1, func(g hal.Grid) error { return chunks.ExtremeOn(w.ctx, w.on, g, most, x, indexes, value, index) })
}

// Scan makes sums[i] the sum of x[0] to x[i]. sums has as many elements as x. It may be x, and
// otherwise shares no elements with it.
func Scan[T grid.Number](q kernel.Queue, x, sums kernel.Vector[T]) {
	start(q, "Scan", func(w *work) { scanned(w, 0, x, sums) })
}

// ExclusiveScan makes sums[i] the sum of the elements before x[i]: sums[0] is 0. sums has as many elements as x. It may be
// x, and otherwise shares no elements with it.
func ExclusiveScan[T grid.Number](q kernel.Queue, x, sums kernel.Vector[T]) {
	start(q, "ExclusiveScan", func(w *work) { scanned(w, 1, x, sums) })
}

func scanned[T grid.Number](w *work, exclusive int32, x, sums kernel.Vector[T]) {
	if n := kernel.Overlap(sums, x); n != uint64(kernel.Len(x))*uint64(unsafe.Sizeof(T(0))) { // they are not the same
		w.apart("sums", "x", sums, x)
	}
	scan(w, exclusive, x, sums)
}

func scan[T grid.Number](w *work, exclusive int32, x, sums kernel.Vector[T]) {
	n := kernel.Len(x)
	w.check(kernel.Len(sums) == n, "sums has %d elements, and x has %d", kernel.Len(sums), n)
	if n == 0 {
		return
	}
	before := temporary[T](w, 0)
	if n > chunk {
		before = temporary[T](w, count(n, chunk))
		w.launch(n, func(g hal.Grid) error { return chunks.TotalOn(w.ctx, w.on, g, chunk, x, before) })
		scan(w, 1, before, before)
	}
	w.launch(n, func(g hal.Grid) error { return chunks.ScanOn(w.ctx, w.on, g, exclusive, x, before, sums) })
}

// Sort sorts keys, the least first. Of floats, -0 comes before 0, and a NaN is before or after all numbers, as its sign says.
func Sort[T grid.Number](q kernel.Queue, keys kernel.Vector[T]) {
	start(q, "Sort", func(w *work) { sorted(w, keys, nil) })
}

// SortPairs sorts keys as [Sort] does, and moves each value with its key. Equal keys keep their order. If the values are 0, 1, 2 and so
// on before, each is afterwards the index that its key had. Keys and values share no memory.
func SortPairs[T grid.Number](q kernel.Queue, keys kernel.Vector[T], values kernel.Vector[uint32]) {
	start(q, "SortPairs", func(w *work) {
		w.check(kernel.Len(values) == kernel.Len(keys), "there are %d values, and %d keys", kernel.Len(values), kernel.Len(keys))
		w.apart("values", "keys", values, keys)
		sorted(w, keys, values)
	})
}

// sorted sorts keys by their bits, as words of the same size.
func sorted[T grid.Number](w *work, keys kernel.Vector[T], values kernel.Vector[uint32]) {
	if kernel.Len(keys) < 2 {
		return
	}
	switch any(T(0)).(type) {
	case float32:
		sortWords(w, words[T, uint32]{keys}, values, 1<<31, 1<<32-1, 4)
	case float64:
		sortWords(w, words[T, uint64]{keys}, values, 1<<63, 1<<64-1, 8)
	case int32:
		sortWords(w, words[T, uint32]{keys}, values, 1<<31, 1<<31, 4)
	case int64:
		sortWords(w, words[T, uint64]{keys}, values, 1<<63, 1<<63, 8)
	case uint32:
		sortWords(w, words[T, uint32]{keys}, values, 0, 0, 4)
	case uint64:
		sortWords(w, words[T, uint64]{keys}, values, 0, 0, 8)
	}
}

// words are the bits of the elements of a vector.
type words[T any, W chunks.Word] struct{ kernel.Vector[T] }

// Len returns how many words there are.
func (x words[T, W]) Len() int {
	var t T
	var w W
	return kernel.Len(x.Vector) * int(unsafe.Sizeof(t)/unsafe.Sizeof(w))
}

// Element returns 0.
func (words[T, W]) Element() W { return 0 }

// sortWords sorts by the digits of the lowest bytes, one after the other, the lowest first. Each step moves the keys to a second buffer,
// or back. The kernel digit says what sign and negative are.
func sortWords[W chunks.Word](w *work, keys kernel.Vector[W], values kernel.Vector[uint32], sign, negative W, bytes int) {
	n := kernel.Len(keys)
	other := temporary[W](w, n)
	otherValues := temporary[uint32](w, kernel.Len(values))
	if values == nil {
		values = temporary[uint32](w, 0)
	}
	starts := temporary[uint32](w, digits*count(n, chunk))
	for shift := uint32(0); shift < 8*uint32(bytes); shift += bits {
		w.launch(n, func(g hal.Grid) error { return chunks.CountOn(w.ctx, w.on, g, shift, sign, negative, keys, starts) })
		scan(w, 1, starts, starts)
		w.launch(n, func(g hal.Grid) error {
			return chunks.ScatterOn(w.ctx, w.on, g, shift, sign, negative, keys, values, starts, other, otherValues)
		})
		keys, other, values, otherValues = other, keys, otherValues, values
	}
}
