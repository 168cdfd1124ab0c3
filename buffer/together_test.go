package buffer_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// leases measures what five leases add to a small piece of work on a stream whose handle the program has asked for, or has not: taken and
// released one by one, and together.
func leases(b *testing.B, d *hal.Device) {
	for _, handle := range []bool{false, true} {
		name := "no handle"
		if handle {
			name = "handle"
		}
		b.Run(name, func(b *testing.B) {
			s := newStream(b, d)
			if handle {
				_ = s.Handle()
			}
			const n = 5
			var list [n]*buffer.Buffer[uint32]
			var wants [n]buffer.Want
			for i := range list {
				list[i] = newBuffer(b, make([]uint32, 1024))
				require.NoError(b, list[i].SyncTo(ctx, d))
				mode := coherence.Read
				if i == 0 {
					mode = coherence.ReadWrite
				}
				wants[i] = list[i].Want(mode)
			}
			m, err := d.Alloc(hal.KindDevice, 4096, 0)
			require.NoError(b, err)
			defer m.Close()
			work := func() { _ = s.Fill(m.Region(0, 64), hal.Zero) }
			one := func() {
				var open [n]buffer.Lease
				for i := range list {
					mode := coherence.Read
					if i == 0 {
						mode = coherence.ReadWrite
					}
					var err error
					if open[i], err = list[i].TryAcquire(s, mode); err != nil {
						b.Fatal(err)
					}
				}
				work()
				for _, l := range open {
					if err := l.Release(); err != nil {
						b.Fatal(err)
					}
				}
			}
			all := func() {
				l, err := buffer.AcquireAll(ctx, s, wants[:]...)
				if err != nil {
					b.Fatal(err)
				}
				work()
				if err := l.Release(); err != nil {
					b.Fatal(err)
				}
			}
			// In turns, so that all three meet the same machine.
			var took [3]time.Duration
			rounds := 0
			b.ReportAllocs()
			for b.Loop() {
				for i, do := range []func(){work, one, all} {
					begin := time.Now()
					for range 100 {
						do()
					}
					took[i] += time.Since(begin)
					_ = s.Sync(ctx)
				}
				rounds += 100
			}
			each := func(i int) float64 { return float64(took[i].Nanoseconds()) / float64(rounds) }
			b.ReportMetric(each(0), "alone-ns")
			b.ReportMetric(each(1)-each(0), "one-by-one-adds-ns")
			b.ReportMetric(each(2)-each(0), "together-adds-ns")
		})
	}
}

// BenchmarkLeases is what five leases cost on the host backend.
func BenchmarkLeases(b *testing.B) { leases(b, openMany(b, "one", 1, 1)[0]) }
