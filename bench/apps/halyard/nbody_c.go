package main

import (
	"context"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

var moveText = kernel.New(kernel.Source{Name: "nbody", Portable: `
KERNEL void move(const GLOBAL f32x4 *old, GLOBAL f32 *v, GLOBAL f32x4 *now, u32 n, u32 first, u32 count, f32 dt) {
	LOCAL f32x4 piece[64];
	u32 i = (u32)INDEX(0), me = THREAD(0);
	f32x4 b = i < count ? old[first + i] : F32X4(0, 0, 0, 0);
	f32 ax = 0, ay = 0, az = 0;
	for (u32 from = 0; from < n; from += 64) {
		piece[me] = from + me < n ? old[from + me] : F32X4(0, 0, 0, 0);
		BARRIER();
		for (u32 k = 0; k < 64; k++) {
			f32x4 o = piece[k];
			f32 dx = o.x - b.x, dy = o.y - b.y, dz = o.z - b.z;
			f32 d = dx * dx + dy * dy + dz * dz + 0.01f, pull = o.w / (d * sqrt(d));
			ax += dx * pull;
			ay += dy * pull;
			az += dz * pull;
		}
		BARRIER();
	}
	if (i >= count) return;
	v[3 * i] += ax * dt;
	v[3 * i + 1] += ay * dt;
	v[3 * i + 2] += az * dt;
	now[i] = F32X4(b.x + v[3 * i] * dt, b.y + v[3 * i + 1] * dt, b.z + v[3 * i + 2] * dt, b.w);
}`}).Kernel("move")

func stepC(ctx context.Context, s *hal.Stream, over hal.Grid, dt float32, first int32, old, v, now kernel.Vector[float32]) error {
	return moveText.Launch(ctx, s, over, kernel.In(old), kernel.InOut(v), kernel.Out(now), kernel.Value(uint32(old.Len()/4)), kernel.Value(uint32(first)),
		kernel.Value(uint32(now.Len()/4)), kernel.Value(dt))
}
