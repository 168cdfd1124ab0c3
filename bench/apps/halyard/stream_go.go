package main

import (
	"context"

	"github.com/go-halyard/halyard/bench/apps/gokernels"
	"github.com/go-halyard/halyard/hal"
)

var streamGo = streamKernels{
	copies: func(ctx context.Context, s *hal.Stream, a, c doubles) error {
		return gokernels.CopiesOn(ctx, s, hal.Over(c.Len()), a, c)
	},
	mul: func(ctx context.Context, s *hal.Stream, b, c doubles) error {
		return gokernels.MulOn(ctx, s, hal.Over(b.Len()), b, c)
	},
	add: func(ctx context.Context, s *hal.Stream, a, b, c doubles) error {
		return gokernels.AddOn(ctx, s, hal.Over(c.Len()), a, b, c)
	},
	triad: func(ctx context.Context, s *hal.Stream, a, b, c doubles) error {
		return gokernels.TriadOn(ctx, s, hal.Over(a.Len()), a, b, c)
	},
	nstream: func(ctx context.Context, s *hal.Stream, a, b, c doubles) error {
		return gokernels.NstreamOn(ctx, s, hal.Over(a.Len()), a, b, c)
	},
	in: func(ctx context.Context, s *hal.Stream, a, b, sums doubles) error {
		return gokernels.InnerOn(ctx, s, hal.Blocks(groups).Of(group), a, b, sums)
	},
}
