//go:build cuda && hip && opencl && linux

package fleet

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/cudahiptest"
	"github.com/go-halyard/halyard/kernel"
)

// cachedText is of the size of a small program's kernels. It begins with a number, so that no text was compiled before.
const cachedText = `
/* %d */
KERNEL void smooth(u32 n, const GLOBAL f32 *x, GLOBAL f32 *y) {
	LOCAL f32 part[66];
	u32 i = INDEX(0), me = THREAD(0) + 1;
	part[me] = i < n ? x[i] : 0.0f;
	if (me == 1) part[0] = i > 0 && i <= n ? x[i - 1] : 0.0f;
	if (me == 64) part[65] = i + 1 < n ? x[i + 1] : 0.0f;
	BARRIER();
	if (i < n) y[i] = 0.25f * part[me - 1] + 0.5f * part[me] + 0.25f * part[me + 1];
}

KERNEL void dot(u32 n, const GLOBAL f32 *x, const GLOBAL f32 *y, GLOBAL f32 *out) {
	LOCAL f32 part[64];
	u32 me = THREAD(0);
	f32 sum = 0.0f;
	for (u32 i = INDEX(0); i < n; i += 64 * BLOCKS(0)) sum += x[i] * y[i];
	part[me] = sum;
	for (u32 other = 32; other > 0; other /= 2) {
		BARRIER();
		if (me < other) part[me] += part[me + other];
	}
	if (me == 0) out[BLOCK(0)] = part[0];
}

KERNEL void axpy(u32 n, f32 a, const GLOBAL f32 *x, GLOBAL f32 *y) {
	if (INDEX(0) < n) y[INDEX(0)] += a * x[INDEX(0)];
}
`

// BenchmarkKernelCache compares loading kernels that the compiler makes with loading those that it made before, by another program. The metric
// is the median of the times with the compiler by that of the times without.
func BenchmarkKernelCache(b *testing.B) {
	cudahiptest.Simulate(b)
	b.Setenv("HALYARD_KERNEL_CACHE", b.TempDir())
	number := time.Now().UnixNano()
	for _, r := range hal.List(ctx) {
		for _, info := range r.Devices {
			if info.Backend == "host" {
				continue
			}
			b.Run(info.Name(), func(b *testing.B) {
				d, err := hal.Open(ctx, info.Name())
				require.NoError(b, err)
				defer d.Close()
				var times [2][]time.Duration
				for b.Loop() {
					number++
					for i := range times { // compiled, and then from the cache
						p := kernel.New(kernel.Source{Name: "cached", Portable: fmt.Sprintf(cachedText, number)})
						start := time.Now()
						err := p.Load(ctx, d)
						times[i] = append(times[i], time.Since(start))
						require.NoError(b, p.Close())
						if errors.Is(err, hal.ErrUnavailable) || errors.Is(err, hal.ErrUnsupported) {
							b.Skip(err)
						}
						require.NoError(b, err)
					}
				}
				for i := range times {
					slices.Sort(times[i])
				}
				built, cached := times[0][len(times[0])/2], times[1][len(times[1])/2]
				b.ReportMetric(float64(built.Microseconds()), "built-us")
				b.ReportMetric(float64(cached.Microseconds()), "cached-us")
				b.ReportMetric(float64(built)/float64(cached), "built/cached")
			})
		}
	}
}
