package stencil

import (
	"context"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
)

// kernels has the kernels for the host alone.
var kernels = kernel.New(kernel.Source{Name: "stencil", Go: kernel.Functions{
	"smooth": kernel.Go(func(blk *kernel.Block) {
		width, height, from, to := kernel.Number[int32](blk, 0), kernel.Number[int32](blk, 1), kernel.Slice[float32](blk, 2), kernel.Slice[float32](blk, 3)
		for t := range grid.Threads(blk) {
			smooth(t, width, height, from, to)
		}
	}),
}})

// Smooth launches smooth.
func Smooth(ctx context.Context, s *hal.Stream, over hal.Grid, width int32, height int32, from *buffer.Buffer[float32], to *buffer.Buffer[float32]) error {
	return kernels.Kernel("smooth").Launch(ctx, s, over, kernel.Value(width), kernel.Value(height), kernel.In(from), kernel.Out(to))
}
