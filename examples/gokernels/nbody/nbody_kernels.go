package nbody

import (
	"context"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
)

// kernels has the kernels for the host alone.
var kernels = kernel.New(kernel.Source{Name: "nbody", Go: kernel.Functions{
	"step": kernel.Go(func(blk *kernel.Block) {
		dt, old, v, now := kernel.Number[float32](blk, 0), kernel.Slice[float32](blk, 1), kernel.Slice[float32](blk, 2), kernel.Slice[float32](blk, 3)
		grid.RunTogether(blk, func(t grid.Thread) { step(t, dt, old, v, now) })
	}),
}})

// Step launches step.
func Step(ctx context.Context, s *hal.Stream, over hal.Grid, dt float32, old *buffer.Buffer[float32], v *buffer.Buffer[float32], now *buffer.Buffer[float32]) error {
	return kernels.Kernel("step").Launch(ctx, s, over, kernel.Value(dt), kernel.In(old), kernel.InOut(v), kernel.Out(now))
}
