package main

import (
	"context"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

var mandelbrotText = kernel.New(kernel.Source{Name: "mandelbrot", Portable: `
KERNEL void mandelbrot(GLOBAL u16 *out, u32 n, u32 first, u32 rows, u32 limit) {
	u32 px = (u32)INDEX(0), py = (u32)INDEX(1);
	if (px >= n || py >= rows) return;
	f32 width = 2.4f / n, a = -1.7f + width * px, b = -1.2f + width * (first + py), x = 0, y = 0;
	u32 count = 0;
	while (count < limit && x * x + y * y <= 4.0f) {
		f32 t = x * x - y * y + a;
		y = 2.0f * x * y + b;
		x = t;
		count++;
	}
	out[(u64)py * n + px] = (u16)count;
}`}).Kernel("mandelbrot")

func mandelbrotC(ctx context.Context, s *hal.Stream, over hal.Grid, n, rows, first, limit int32, out kernel.Vector[uint16]) error {
	return mandelbrotText.Launch(ctx, s, over, kernel.Out(out), kernel.Value(uint32(n)), kernel.Value(uint32(first)), kernel.Value(uint32(rows)), kernel.Value(uint32(limit)))
}
