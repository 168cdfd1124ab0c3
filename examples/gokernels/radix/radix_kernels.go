package radix

import (
	"context"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
)

// kernels has the kernels for the host alone.
var kernels = kernel.New(kernel.Source{Name: "radix", Go: kernel.Functions{
	"count": kernel.Go(func(blk *kernel.Block) {
		shift, keys, counts := kernel.Number[uint32](blk, 0), kernel.Slice[uint32](blk, 1), kernel.Slice[uint32](blk, 2)
		grid.RunTogether(blk, func(t grid.Thread) { count(t, shift, keys, counts) })
	}),
	"starts": kernel.Go(func(blk *kernel.Block) {
		counts := kernel.Slice[uint32](blk, 0)
		grid.RunTogether(blk, func(t grid.Thread) { starts(t, counts) })
	}),
	"scatter": kernel.Go(func(blk *kernel.Block) {
		shift, keys, starts, sorted := kernel.Number[uint32](blk, 0), kernel.Slice[uint32](blk, 1), kernel.Slice[uint32](blk, 2), kernel.Slice[uint32](blk, 3)
		grid.RunTogether(blk, func(t grid.Thread) { scatter(t, shift, keys, starts, sorted) })
	}),
}})

// Count launches count.
func Count(ctx context.Context, s *hal.Stream, over hal.Grid, shift uint32, keys *buffer.Buffer[uint32], counts *buffer.Buffer[uint32]) error {
	return kernels.Kernel("count").Launch(ctx, s, over, kernel.Value(shift), kernel.In(keys), kernel.Out(counts))
}

// Starts launches starts.
func Starts(ctx context.Context, s *hal.Stream, over hal.Grid, counts *buffer.Buffer[uint32]) error {
	return kernels.Kernel("starts").Launch(ctx, s, over, kernel.InOut(counts))
}

// Scatter launches scatter.
func Scatter(ctx context.Context, s *hal.Stream, over hal.Grid, shift uint32, keys *buffer.Buffer[uint32], starts *buffer.Buffer[uint32], sorted *buffer.Buffer[uint32]) error {
	return kernels.Kernel("scatter").Launch(ctx, s, over, kernel.Value(shift), kernel.In(keys), kernel.In(starts), kernel.Out(sorted))
}
