package staging_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/staging"
)

// compare reports, for uploads and downloads of several sizes, how long the ring takes, how long the plain copy takes, and the plain
// copy's time in units of the ring's: above 1 the ring is faster.
func compare(b *testing.B, d *hal.Device) {
	for _, n := range []int{64 * kib, 1 << 20, 16 << 20} {
		mem, err := d.Alloc(hal.KindDevice, uint64(n), 0)
		require.NoError(b, err)
		s, err := d.NewStream(hal.StreamOptions{})
		require.NoError(b, err)
		r, err := staging.New(d, staging.Options{})
		require.NoError(b, err)
		data := random(1, n)
		for _, c := range []struct {
			what        string
			plain, ring func() error
		}{
			{"up", func() error { return s.CopyIn(mem.All(), data) }, func() error { return r.Upload(ctx, s, mem.All(), data) }},
			{"down", func() error { return s.CopyOut(data, mem.All()) }, func() error { return r.Download(ctx, s, data, mem.All()) }},
		} {
			b.Run(fmt.Sprintf("%s/%dKiB", c.what, n/kib), func(b *testing.B) {
				b.SetBytes(int64(n))
				b.ReportAllocs()
				plain, ring := time.Duration(0), time.Duration(0)
				for b.Loop() {
					start := time.Now()
					err := c.ring()
					if err == nil {
						err = s.Sync(ctx)
					}
					ring += time.Since(start)
					b.StopTimer()
					start = time.Now()
					if err == nil {
						err = c.plain()
					}
					if err == nil {
						err = s.Sync(ctx)
					}
					plain += time.Since(start)
					require.NoError(b, err)
					b.StartTimer()
				}
				b.ReportMetric(float64(plain)/float64(ring), "plain/ring")
				b.ReportMetric(float64(plain.Nanoseconds())/float64(b.N), "plain-ns/op")
			})
		}
		require.NoError(b, r.Close())
		require.NoError(b, s.Close())
		require.NoError(b, mem.Close())
	}
}

// BenchmarkEveryDevice compares the ring with the plain copy on every device that there is; more of them come with the build tags.
// Where Worthwhile says no, the ratio shows why.
func BenchmarkEveryDevice(b *testing.B) {
	infos, err := hal.Devices(ctx)
	require.NoError(b, err)
	for _, info := range infos {
		d, err := hal.Open(ctx, hal.Name(info))
		require.NoError(b, err)
		b.Run(fmt.Sprintf("%s/worthwhile=%t", hal.Name(info), staging.Worthwhile(d)), func(b *testing.B) { compare(b, d) })
		require.NoError(b, d.Close())
	}
}
