package reduce

import (
	"context"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
)

// kernels has the kernels for the host alone.
var kernels = kernel.New(kernel.Source{Name: "reduce", Go: kernel.Functions{
	"sum": kernel.Go(func(blk *kernel.Block) {
		x, sums := kernel.Slice[uint32](blk, 0), kernel.Slice[uint32](blk, 1)
		grid.RunTogether(blk, func(t grid.Thread) { sum(t, x, sums) })
	}),
	"scan": kernel.Go(func(blk *kernel.Block) {
		x, upTo, sums := kernel.Slice[uint32](blk, 0), kernel.Slice[uint32](blk, 1), kernel.Slice[uint32](blk, 2)
		grid.RunTogether(blk, func(t grid.Thread) { scan(t, x, upTo, sums) })
	}),
	"shift": kernel.Go(func(blk *kernel.Block) {
		x, upTo := kernel.Slice[uint32](blk, 0), kernel.Slice[uint32](blk, 1)
		for t := range grid.Threads(blk) {
			shift(t, x, upTo)
		}
	}),
}})

// Sum launches sum.
func Sum(ctx context.Context, s *hal.Stream, over hal.Grid, x *buffer.Buffer[uint32], sums *buffer.Buffer[uint32]) error {
	return kernels.Kernel("sum").Launch(ctx, s, over, kernel.In(x), kernel.Out(sums))
}

// Scan launches scan.
func Scan(ctx context.Context, s *hal.Stream, over hal.Grid, x *buffer.Buffer[uint32], upTo *buffer.Buffer[uint32], sums *buffer.Buffer[uint32]) error {
	return kernels.Kernel("scan").Launch(ctx, s, over, kernel.In(x), kernel.Out(upTo), kernel.Out(sums))
}

// Shift launches shift.
func Shift(ctx context.Context, s *hal.Stream, over hal.Grid, x *buffer.Buffer[uint32], upTo *buffer.Buffer[uint32]) error {
	return kernels.Kernel("shift").Launch(ctx, s, over, kernel.InOut(x), kernel.In(upTo))
}
