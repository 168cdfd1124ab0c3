package saxpy

import (
	"context"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
)

// kernels has the kernels for the host alone.
var kernels = kernel.New(kernel.Source{Name: "saxpy", Go: kernel.Functions{
	"saxpy": kernel.Go(func(blk *kernel.Block) {
		a, x, y := kernel.Number[float32](blk, 0), kernel.Slice[float32](blk, 1), kernel.Slice[float32](blk, 2)
		for t := range grid.Threads(blk) {
			saxpy(t, a, x, y)
		}
	}),
}})

// Saxpy launches saxpy.
func Saxpy(ctx context.Context, s *hal.Stream, over hal.Grid, a float32, x *buffer.Buffer[float32], y *buffer.Buffer[float32]) error {
	return kernels.Kernel("saxpy").Launch(ctx, s, over, kernel.Value(a), kernel.In(x), kernel.InOut(y))
}
