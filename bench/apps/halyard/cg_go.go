package main

import (
	"context"

	"github.com/go-halyard/halyard/bench/apps/gokernels"
	gradients "github.com/go-halyard/halyard/examples/gokernels/cg"
	"github.com/go-halyard/halyard/hal"
)

var cgGo = cgKernels{
	product: func(ctx context.Context, s *hal.Stream, n int, a, b, sums floats) error {
		return gradients.ProductOn(ctx, s, hal.Blocks(sums.Len()).Of(group), a, b, sums, n)
	},
	total: func(ctx context.Context, s *hal.Stream, sums, out floats) error {
		return gradients.TotalOn(ctx, s, hal.Blocks(1).Of(group), sums, out)
	},
	laplace: func(ctx context.Context, s *hal.Stream, n int, p, q floats) error {
		return gokernels.LaplaceOn(ctx, s, hal.Over(n, q.Len()/n), int32(n), int32(q.Len()/n), p, q)
	},
	advance: func(ctx context.Context, s *hal.Stream, x, r, p, q, rr, pq floats) error {
		return gradients.AdvanceOn(ctx, s, hal.Over(x.Len()), x, r, p, q, rr, pq)
	},
	direct: func(ctx context.Context, s *hal.Stream, p, r, now, before floats) error {
		return gradients.DirectOn(ctx, s, hal.Over(p.Len()), p, r, now, before)
	},
}
