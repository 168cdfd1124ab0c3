package algo

import (
	"context"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/algo/internal/histograms"
)

// Histogram makes counts[v] the number of elements of x that are equal to v. Elements for which counts has no place are not counted. x and
// counts share no memory.
func Histogram[T uint8 | int32 | uint32](q kernel.Queue, x kernel.Vector[T], counts kernel.Vector[uint32]) {
	start(q, "Histogram", func(w *work) {
		w.apart("counts", "x", counts, x)
		w.enqueue(hal.Over(kernel.Len(counts)), func(g hal.Grid) error { return histograms.ZeroOn(w.ctx, w.on, g, counts) })
		const chunk = 32 * threads
		blocks := hal.Blocks((kernel.Len(x) + chunk - 1) / chunk).Of(threads)
		w.enqueue(blocks, func(g hal.Grid) error { return counter[T]()(w.ctx, w.on, g, x, counts) })
	})
}

// counter returns the function that launches the kernel for elements of type T.
func counter[T uint8 | int32 | uint32]() func(context.Context, kernel.Target, hal.Grid, kernel.Vector[T], kernel.Vector[uint32]) error {
	var found any
	switch any(T(0)).(type) {
	case uint8:
		found = histograms.Uint8sOn
	case int32:
		found = histograms.Int32sOn
	case uint32:
		found = histograms.Uint32sOn
	}
	return found.(func(context.Context, kernel.Target, hal.Grid, kernel.Vector[T], kernel.Vector[uint32]) error)
}
