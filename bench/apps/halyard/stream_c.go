package main

import (
	"context"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

var streamText = kernel.New(kernel.Source{Name: "stream", Portable: `
KERNEL void copies(const GLOBAL f64 *a, GLOBAL f64 *c, u64 n) { u64 i = INDEX(0); if (i < n) c[i] = a[i]; }
KERNEL void mul(GLOBAL f64 *b, const GLOBAL f64 *c, u64 n) { u64 i = INDEX(0); if (i < n) b[i] = 0.4 * c[i]; }
KERNEL void add(const GLOBAL f64 *a, const GLOBAL f64 *b, GLOBAL f64 *c, u64 n) { u64 i = INDEX(0); if (i < n) c[i] = a[i] + b[i]; }
KERNEL void triad(GLOBAL f64 *a, const GLOBAL f64 *b, const GLOBAL f64 *c, u64 n) { u64 i = INDEX(0); if (i < n) a[i] = b[i] + 0.4 * c[i]; }
KERNEL void nstream(GLOBAL f64 *a, const GLOBAL f64 *b, const GLOBAL f64 *c, u64 n) { u64 i = INDEX(0); if (i < n) a[i] += b[i] + 0.4 * c[i]; }
KERNEL void inner(const GLOBAL f64 *a, const GLOBAL f64 *b, GLOBAL f64 *sums, u64 n) {
	LOCAL f64 part[64];
	u64 me = THREAD(0);
	f64 sum = 0;
	for (u64 i = INDEX(0); i < n; i += THREADS(0) * BLOCKS(0)) sum += a[i] * b[i];
	part[me] = sum;
	for (u64 width = THREADS(0) / 2; width > 0; width /= 2) {
		BARRIER();
		if (me < width) part[me] += part[me + width];
	}
	if (me == 0) sums[BLOCK(0)] = part[0];
}`})

var copiesC, mulC, addC, triadC, nstreamC, innerC = streamText.Kernel("copies"), streamText.Kernel("mul"), streamText.Kernel("add"),
	streamText.Kernel("triad"), streamText.Kernel("nstream"), streamText.Kernel("inner")

var streamC = streamKernels{
	copies: func(ctx context.Context, s *hal.Stream, a, c doubles) error {
		return copiesC.Launch(ctx, s, hal.Over(c.Len()), kernel.In(a), kernel.Out(c), kernel.Value(uint64(c.Len())))
	},
	mul: func(ctx context.Context, s *hal.Stream, b, c doubles) error {
		return mulC.Launch(ctx, s, hal.Over(b.Len()), kernel.Out(b), kernel.In(c), kernel.Value(uint64(b.Len())))
	},
	add: func(ctx context.Context, s *hal.Stream, a, b, c doubles) error {
		return addC.Launch(ctx, s, hal.Over(c.Len()), kernel.In(a), kernel.In(b), kernel.Out(c), kernel.Value(uint64(c.Len())))
	},
	triad: func(ctx context.Context, s *hal.Stream, a, b, c doubles) error {
		return triadC.Launch(ctx, s, hal.Over(a.Len()), kernel.Out(a), kernel.In(b), kernel.In(c), kernel.Value(uint64(a.Len())))
	},
	nstream: func(ctx context.Context, s *hal.Stream, a, b, c doubles) error {
		return nstreamC.Launch(ctx, s, hal.Over(a.Len()), kernel.InOut(a), kernel.In(b), kernel.In(c), kernel.Value(uint64(a.Len())))
	},
	in: func(ctx context.Context, s *hal.Stream, a, b, sums doubles) error {
		return innerC.Launch(ctx, s, hal.Blocks(groups).Of(group), kernel.In(a), kernel.In(b), kernel.Out(sums), kernel.Value(uint64(a.Len())))
	},
}
