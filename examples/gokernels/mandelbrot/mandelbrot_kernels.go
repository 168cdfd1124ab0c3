package mandelbrot

import (
	"context"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
)

// kernels has the kernels for the host alone.
var kernels = kernel.New(kernel.Source{Name: "mandelbrot", Go: kernel.Functions{
	"mandelbrot": kernel.Go(func(blk *kernel.Block) {
		v, rounds := kernel.Number[View](blk, 0), kernel.Slice[int32](blk, 1)
		for t := range grid.Threads(blk) {
			mandelbrot(t, v, rounds)
		}
	}),
}})

// Mandelbrot launches mandelbrot.
func Mandelbrot(ctx context.Context, s *hal.Stream, over hal.Grid, v View, rounds *buffer.Buffer[int32]) error {
	return kernels.Kernel("mandelbrot").Launch(ctx, s, over, kernel.Struct(&v), kernel.Out(rounds))
}
