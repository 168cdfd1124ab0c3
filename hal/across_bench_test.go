package hal_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
)

// acrossSizes are the sizes, in bytes, that copies between devices are measured at.
var acrossSizes = []uint64{4 << 10, 256 << 10, 16 << 20}

// benchAcross compares a copy between two devices with its two legs one after the other, through a ready piece of host
// memory of the source's device.
func benchAcross(b *testing.B, from, to *hal.Device) {
	for _, n := range acrossSizes {
		b.Run(fmt.Sprintf("%dKiB", n>>10), func(b *testing.B) {
			out, in := newStream(b, from), newStream(b, to)
			src, dst := newMemory(b, from, n), newMemory(b, to, n)
			piece, err := from.Alloc(hal.KindHost, n, 0)
			require.NoError(b, err)
			defer piece.Close()
			ready, err := piece.Bytes()
			if err != nil { // memory that has to be mapped first
				ready = make([]byte, n)
			}
			require.NoError(b, out.Fill(src.All(), hal.Pattern8(5)))
			require.NoError(b, in.Fill(dst.All(), hal.Pattern8(6)))
			require.NoError(b, out.Sync(ctx))
			require.NoError(b, in.Sync(ctx))
			must := func(errs ...error) {
				for _, err := range errs {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			across := func() {
				must(hal.CopyPeer(in, dst.All(), out, src.All()), in.Sync(ctx))
			}
			legs := func() {
				must(out.CopyOut(ready, src.All()), out.Sync(ctx), in.CopyIn(dst.All(), ready), in.Sync(ctx))
			}
			across()
			legs()
			b.SetBytes(int64(n))
			b.ReportAllocs()
			var ours, plain time.Duration
			for b.Loop() {
				start := time.Now()
				across()
				ours += time.Since(start)
				b.StopTimer()
				start = time.Now()
				legs()
				plain += time.Since(start)
				b.StartTimer()
			}
			b.ReportMetric(float64(ours)/float64(plain), "across/legs")
		})
	}
}

func BenchmarkAcrossHost(b *testing.B) {
	one := host.New(host.Options{Name: "one", Discrete: 2})
	other := host.New(host.Options{Name: "other", Discrete: 1})
	open := func(x driver.Backend, ordinal int) *hal.Device {
		d, err := hal.OpenWith(ctx, x, ordinal)
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, d.Close()) })
		return d
	}
	for _, c := range []struct {
		name     string
		from, to *hal.Device
	}{
		{"unified-discrete", open(one, 0), open(other, 1)},
		{"discrete-unified", open(other, 1), open(one, 0)},
		{"discrete-discrete", open(one, 1), open(other, 1)},
	} {
		b.Run(c.name, func(b *testing.B) { benchAcross(b, c.from, c.to) })
	}
}
