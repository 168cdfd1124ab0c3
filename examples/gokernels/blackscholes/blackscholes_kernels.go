package blackscholes

import (
	"context"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
)

// kernels has the kernels for the host alone.
var kernels = kernel.New(kernel.Source{Name: "blackscholes", Go: kernel.Functions{
	"price": kernel.Go(func(blk *kernel.Block) {
		rate, volatility, share, strike, years, call, put := kernel.Number[float32](blk, 0), kernel.Number[float32](blk, 1), kernel.Slice[float32](blk, 2), kernel.Slice[float32](blk, 3), kernel.Slice[float32](blk, 4), kernel.Slice[float32](blk, 5), kernel.Slice[float32](blk, 6)
		for t := range grid.Threads(blk) {
			price(t, rate, volatility, share, strike, years, call, put)
		}
	}),
}})

// Price launches price.
func Price(ctx context.Context, s *hal.Stream, over hal.Grid, rate float32, volatility float32, share *buffer.Buffer[float32], strike *buffer.Buffer[float32], years *buffer.Buffer[float32], call *buffer.Buffer[float32], put *buffer.Buffer[float32]) error {
	return kernels.Kernel("price").Launch(ctx, s, over, kernel.Value(rate), kernel.Value(volatility), kernel.In(share), kernel.In(strike), kernel.In(years), kernel.Out(call), kernel.Out(put))
}
