package main

import (
	"context"

	"github.com/go-halyard/halyard/bench/apps/gokernels"
	"github.com/go-halyard/halyard/hal"
)

var streamGo = streamKernels{
	copies: func(ctx context.Context, s *hal.Stream, a, c doubles) error {
		return gokernels.Copies(ctx, s, hal.Over(c.Len()), a, c)
	},
	mul: func(ctx context.Context, s *hal.Stream, b, c doubles) error {
		return gokernels.Mul(ctx, s, hal.Over(b.Len()), b, c)
	},
	add: func(ctx context.Context, s *hal.Stream, a, b, c doubles) error {
		return gokernels.Add(ctx, s, hal.Over(c.Len()), a, b, c)
	},
	triad: func(ctx context.Context, s *hal.Stream, a, b, c doubles) error {
		return gokernels.Triad(ctx, s, hal.Over(a.Len()), a, b, c)
	},
	nstream: func(ctx context.Context, s *hal.Stream, a, b, c doubles) error {
		return gokernels.Nstream(ctx, s, hal.Over(a.Len()), a, b, c)
	},
	in: func(ctx context.Context, s *hal.Stream, a, b, sums doubles) error {
		return gokernels.Inner(ctx, s, hal.Blocks(groups).Of(group), a, b, sums)
	},
}
