package matmul

import (
	"context"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
)

// kernels has the kernels for the host alone.
var kernels = kernel.New(kernel.Source{Name: "matmul", Go: kernel.Functions{
	"matmul": kernel.Go(func(blk *kernel.Block) {
		rows, cols, inner, a, b, c := kernel.Number[int32](blk, 0), kernel.Number[int32](blk, 1), kernel.Number[int32](blk, 2), kernel.Slice[float32](blk, 3), kernel.Slice[float32](blk, 4), kernel.Slice[float32](blk, 5)
		grid.RunTogether(blk, func(t grid.Thread) { matmul(t, rows, cols, inner, a, b, c) })
	}),
}})

// Matmul launches matmul.
func Matmul(ctx context.Context, s *hal.Stream, over hal.Grid, rows int32, cols int32, inner int32, a *buffer.Buffer[float32], b *buffer.Buffer[float32], c *buffer.Buffer[float32]) error {
	return kernels.Kernel("matmul").Launch(ctx, s, over, kernel.Value(rows), kernel.Value(cols), kernel.Value(inner), kernel.In(a), kernel.In(b), kernel.Out(c))
}
