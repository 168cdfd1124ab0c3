package histogram

import (
	"context"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
)

// kernels has the kernels for the host alone.
var kernels = kernel.New(kernel.Source{Name: "histogram", Go: kernel.Functions{
	"count": kernel.Go(func(blk *kernel.Block) {
		data, counts := kernel.Slice[uint8](blk, 0), kernel.Slice[uint32](blk, 1)
		grid.RunTogether(blk, func(t grid.Thread) { count(t, data, counts) })
	}),
}})

// Count launches count.
func Count(ctx context.Context, s *hal.Stream, over hal.Grid, data *buffer.Buffer[uint8], counts *buffer.Buffer[uint32]) error {
	return kernels.Kernel("count").Launch(ctx, s, over, kernel.In(data), kernel.InOut(counts))
}
