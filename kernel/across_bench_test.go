package kernel_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/divided"
	"github.com/go-halyard/halyard/kernel"
)

// BenchmarkHeatByHand compares steps of heat on the first two devices that compile with the same steps by hand: memory for each device's rows and a
// halo, a read of each boundary row that waits, writes of them, and launches. So does it for recorded steps. All run some steps and then wait. They take
// turns; the metric is the least time of ours divided by the least by hand.
func BenchmarkHeatByHand(b *testing.B) {
	streams := everyStream(b, 0)
	if len(streams) < 2 {
		b.Skip("two devices with compilers are needed")
	}
	streams = streams[:2]
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	const steps = 50
	for _, n := range []int{64, 256, 1024} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			split := newSplit(b, streams...)
			grid := hal.Over(n, n).Of(16, 16)
			now, next := made(b, make([]float32, n*n)...), made(b, make([]float32, n*n)...)
			ours := func() {
				for range steps {
					must(divided.SpreadOn(ctx, split, grid, int32(n), int32(n), now, next))
					now, next = next, now
				}
				for _, s := range streams {
					must(s.Sync(ctx))
				}
			}
			step, err := kernel.Record(ctx, split, func(s *kernel.Step) error {
				return errors.Join(divided.SpreadOn(ctx, s, grid, int32(n), int32(n), now, next),
					divided.SpreadOn(ctx, s, grid, int32(n), int32(n), next, now))
			})
			require.NoError(b, err)
			defer step.Close()
			recorded := func() {
				for range steps / 2 {
					must(step.Run(ctx))
				}
				for _, s := range streams {
					must(s.Sync(ctx))
				}
			}
			row, rows := uint64(4*n), n/2
			size := row * uint64(rows+2)
			var memories [2][2]*hal.Memory
			var kernels [2]*hal.Kernel
			halos := [2][]byte{make([]byte, row), make([]byte, row)}
			for i, s := range streams {
				for k := range memories[i] {
					m, err := s.Device().Alloc(hal.KindDevice, size, 0)
					require.NoError(b, err)
					defer m.Close()
					must(s.Fill(m.All(), hal.Pattern8(0)))
					memories[i][k] = m
				}
				k, err := divided.Kernel("spread").Of(ctx, s.Device())
				require.NoError(b, err)
				kernels[i] = k
			}
			hand := func() {
				for step := range steps {
					at := func(i, r int) hal.Region { return memories[i][step%2].Region(uint64(r)*row, row) }
					must(streams[0].CopyOut(halos[0], at(0, rows)))
					must(streams[1].CopyOut(halos[1], at(1, 1)))
					must(streams[0].Sync(ctx))
					must(streams[1].Sync(ctx))
					must(streams[0].CopyIn(at(0, rows+1), halos[1]))
					must(streams[1].CopyIn(at(1, 0), halos[0]))
					for i, s := range streams {
						from, to := memories[i][step%2], memories[i][1-step%2]
						must(s.Launch(kernels[i], hal.Over(n, rows).Of(16, 16), hal.Value(int32(n)), hal.Value(int32(rows+2)), hal.At(from.All()),
							hal.Value(int64(size/4)), hal.At(to.All()), hal.Value(int64(size/4))))
					}
				}
				for _, s := range streams {
					must(s.Sync(ctx))
				}
			}
			ours()
			hand()
			recorded()
			least := [3]time.Duration{time.Hour, time.Hour, time.Hour}
			for b.Loop() {
				for i, run := range []func(){ours, hand, recorded} {
					start := time.Now()
					run()
					least[i] = min(least[i], time.Since(start))
				}
			}
			b.ReportMetric(float64(least[0].Nanoseconds())/steps, "ours-ns/step")
			b.ReportMetric(float64(least[1].Nanoseconds())/steps, "hand-ns/step")
			b.ReportMetric(float64(least[2].Nanoseconds())/steps, "recorded-ns/step")
			b.ReportMetric(least[0].Seconds()/least[1].Seconds(), "ratio")
			b.ReportMetric(least[2].Seconds()/least[1].Seconds(), "recorded-ratio")
		})
	}
}
