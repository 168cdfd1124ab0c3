package hal_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
)

func TestCopiesOfRowsDoNotAllocate(t *testing.T) {
	d := openHost(t, 1, 1)
	s, m := newStream(t, d), newMemory(t, d, 8192)
	b := make([]byte, 4096)
	for what, call := range map[string]func() error{
		"across": func() error { return s.Copy2D(m.Pitched(0, 64), m.Pitched(4096, 32), 16, 32) },
		"in":     func() error { return s.CopyIn2D(m.Pitched(0, 64), b, 32, 16, 32) },
		"out":    func() error { return s.CopyOut2D(b, 32, m.Pitched(0, 64), 16, 32) },
	} {
		require.NoError(t, call())
		require.Zero(t, testing.AllocsPerRun(100, func() { _ = call() }), what)
	}
}

// Every placement of two small planes in one memory: what is refused is what shares a byte.
func TestPlanesOfOneMemoryMeet(t *testing.T) {
	const width, rows, pitch, size = 3, 3, 5, 40
	d := openHost(t, 1, 1)
	s, m := newStream(t, d), newMemory(t, d, size)
	bytesOf := func(off int) map[int]bool {
		all := map[int]bool{}
		for i := range rows {
			for j := range width {
				all[off+i*pitch+j] = true
			}
		}
		return all
	}
	last := size - ((rows-1)*pitch + width)
	for dst := range last + 1 {
		for src := range last + 1 {
			shared := false
			for at := range bytesOf(dst) {
				shared = shared || bytesOf(src)[at]
			}
			err := s.Copy2D(m.Pitched(uint64(dst), pitch), m.Pitched(uint64(src), pitch), width, rows)
			if shared {
				require.ErrorIs(t, err, hal.ErrOverlap, "from %d to %d", src, dst)
			} else {
				require.NoError(t, err, "from %d to %d", src, dst)
			}
		}
	}
}

// BenchmarkCopy2D compares one call with a call for each row, turn by turn.
func BenchmarkCopy2D(b *testing.B) {
	infos, err := hal.Devices(context.Background())
	require.NoError(b, err)
	for _, info := range infos {
		for _, c := range []struct{ width, rows uint64 }{{64, 64}, {1024, 256}} {
			b.Run(fmt.Sprintf("%s/%dx%d", info.Name(), c.width, c.rows), func(b *testing.B) {
				d, err := hal.Open(ctx, info.Name())
				require.NoError(b, err)
				defer d.Close()
				s, err := d.NewStream()
				require.NoError(b, err)
				defer s.Close()
				m, err := d.Alloc(hal.KindDevice, 4*c.width*c.rows, 0)
				require.NoError(b, err)
				defer m.Close()
				half := 2 * c.width * c.rows
				var one, each time.Duration
				for b.Loop() {
					start := time.Now()
					_ = s.Copy2D(m.Pitched(0, 2*c.width), m.Pitched(half, 2*c.width), c.width, c.rows)
					_ = s.Sync(ctx)
					middle := time.Now()
					for i := range c.rows {
						_ = s.Copy(m.Region(i*2*c.width, c.width), m.Region(half+i*2*c.width, c.width))
					}
					_ = s.Sync(ctx)
					one += middle.Sub(start)
					each += time.Since(middle)
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(float64(one)/float64(b.N), "rows-ns")
				b.ReportMetric(float64(each)/float64(b.N), "row-by-row-ns")
				b.ReportMetric(float64(each)/float64(one), "times")
			})
		}
	}
}
