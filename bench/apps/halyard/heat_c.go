package main

import (
	"context"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

var spreadText = kernel.New(kernel.Source{Name: "heat", Portable: `
KERNEL void spread(const GLOBAL f32 *from, GLOBAL f32 *to, u32 n, u32 rows) {
	u64 j = INDEX(0), i = INDEX(1), at = (i + 1) * n + j;
	if (j >= n || i >= rows) return;
	f32 left = j > 0 ? from[at - 1] : 0, right = j < n - 1 ? from[at + 1] : 0;
	to[i * n + j] = from[at] + 0.1f * (from[at - n] + from[at + n] + left + right - 4 * from[at]);
}`}).Kernel("spread")

func spreadC(ctx context.Context, s kernel.Target, over hal.Grid, n, rows int32, from, to kernel.Vector[float32]) error {
	return spreadText.Launch(ctx, s, over, kernel.In(from), kernel.Out(to), kernel.Value(uint32(n)), kernel.Value(uint32(rows)))
}
