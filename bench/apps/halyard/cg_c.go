package main

import (
	"context"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

var cgText = kernel.New(kernel.Source{Name: "cg", Portable: `
#define ADD_UP(part, mine) \
	part[THREAD(0)] = mine; \
	for (u64 width = THREADS(0) / 2; width > 0; width /= 2) { \
		BARRIER(); \
		if (THREAD(0) < width) part[THREAD(0)] += part[THREAD(0) + width]; \
	}
KERNEL void product(const GLOBAL f32 *a, const GLOBAL f32 *b, GLOBAL f32 *sums, u32 n) {
	LOCAL f32 part[64];
	u64 row = BLOCK(0) * n;
	f32 mine = 0;
	for (u64 j = THREAD(0); j < n; j += 64) mine += a[row + j] * b[row + j];
	ADD_UP(part, mine)
	if (THREAD(0) == 0) sums[BLOCK(0)] = part[0];
}
KERNEL void total(const GLOBAL f32 *sums, GLOBAL f32 *out, u32 n) {
	LOCAL f32 part[64];
	f32 mine = 0;
	for (u64 j = THREAD(0); j < n; j += 64) mine += sums[j];
	ADD_UP(part, mine)
	if (THREAD(0) == 0) *out = part[0];
}
KERNEL void laplace(const GLOBAL f32 *p, GLOBAL f32 *q, u32 n, u32 rows) {
	u64 j = INDEX(0), i = INDEX(1), at = (i + 1) * n + j;
	if (j >= n || i >= rows) return;
	f32 left = j > 0 ? p[at - 1] : 0, right = j < n - 1 ? p[at + 1] : 0;
	q[i * n + j] = 4 * p[at] - p[at - n] - p[at + n] - left - right;
}
KERNEL void advance(GLOBAL f32 *x, GLOBAL f32 *r, const GLOBAL f32 *p, const GLOBAL f32 *q, const GLOBAL f32 *rr, const GLOBAL f32 *pq, u32 n) {
	u64 i = INDEX(0);
	if (i >= n) return;
	f32 alpha = *rr / *pq;
	x[i] += alpha * p[i];
	r[i] -= alpha * q[i];
}
KERNEL void direct(GLOBAL f32 *p, const GLOBAL f32 *r, const GLOBAL f32 *now, const GLOBAL f32 *before, u32 n) {
	u64 i = INDEX(0);
	if (i < n) p[i] = r[i] + *now / *before * p[i];
}`})

var productC, totalC, laplaceC, advanceC, directC = cgText.Kernel("product"), cgText.Kernel("total"), cgText.Kernel("laplace"), cgText.Kernel("advance"), cgText.Kernel("direct")

var cgC = cgKernels{
	product: func(ctx context.Context, s *hal.Stream, n int, a, b, sums floats) error {
		return productC.Launch(ctx, s, hal.Blocks(sums.Len()).Of(group), kernel.In(a), kernel.In(b), kernel.Out(sums), kernel.Value(uint32(n)))
	},
	total: func(ctx context.Context, s *hal.Stream, sums, out floats) error {
		return totalC.Launch(ctx, s, hal.Blocks(1).Of(group), kernel.In(sums), kernel.Out(out), kernel.Value(uint32(sums.Len())))
	},
	laplace: func(ctx context.Context, s *hal.Stream, n int, p, q floats) error {
		rows := q.Len() / n
		return laplaceC.Launch(ctx, s, hal.Over(n, rows), kernel.In(p), kernel.Out(q), kernel.Value(uint32(n)), kernel.Value(uint32(rows)))
	},
	advance: func(ctx context.Context, s *hal.Stream, x, r, p, q, rr, pq floats) error {
		return advanceC.Launch(ctx, s, hal.Over(x.Len()), kernel.InOut(x), kernel.InOut(r), kernel.In(p), kernel.In(q), kernel.In(rr), kernel.In(pq), kernel.Value(uint32(x.Len())))
	},
	direct: func(ctx context.Context, s *hal.Stream, p, r, now, before floats) error {
		return directC.Launch(ctx, s, hal.Over(p.Len()), kernel.InOut(p), kernel.In(r), kernel.In(now), kernel.In(before), kernel.Value(uint32(p.Len())))
	},
}
