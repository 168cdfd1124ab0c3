//go:build cuda && hip && linux

package staging_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/go-halyard/halyard/backends/cuda"
	_ "github.com/go-halyard/halyard/backends/hip"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/staging"
	"github.com/go-halyard/halyard/internal/gpu/gputest"
)

// The simulated drivers run work in any order that streams and events allow.
func TestAnyOrder(t *testing.T) {
	gputest.EachSimulated(t, func(t *testing.T, sim gputest.Simulated) {
		for seed := range uint64(40) {
			require.NoError(t, sim.Reset(seed))
			d, err := hal.Open(ctx, sim.Device)
			require.NoError(t, err)
			require.True(t, staging.Worthwhile(d))
			r, err := staging.New(d, staging.Options{Slots: 1 + int(seed%4), SlotBytes: 4 * kib})
			require.NoError(t, err)
			var streams []*hal.Stream
			var mems []*hal.Memory
			results := make(chan error)
			for g := range 3 {
				s, err := d.NewStream(hal.StreamOptions{})
				require.NoError(t, err)
				m, err := d.Alloc(hal.KindDevice, 40_000, 0)
				require.NoError(t, err)
				streams, mems = append(streams, s), append(mems, m)
				go func() {
					c, cancel := context.WithCancel(ctx)
					defer cancel()
					for round := range uint64(3) {
						data, back := random(seed*100+uint64(g)*10+round, 40_000), make([]byte, 40_000)
						err := r.Upload(c, s, m.All(), data)
						if err == nil {
							err = r.Download(c, s, back, m.All())
						}
						if err == nil && !bytes.Equal(data, back) {
							err = fmt.Errorf("seed %d, goroutine %d, round %d: wrong bytes", seed, g, round)
						}
						if err != nil {
							results <- err
							return
						}
					}
					results <- nil
				}()
			}
			for range 3 {
				require.NoError(t, <-results)
			}
			require.Zero(t, r.Stats().Pageable)
			require.NoError(t, r.Close())
			for i := range streams {
				require.NoError(t, streams[i].Close())
				require.NoError(t, mems[i].Close())
			}
			require.NoError(t, d.Close())
			sim.Kept(t, "seed", seed)
		}
	})
}

// Whatever call of the vendor's fails, the error is reported or the bytes are right, and nothing is left behind.
func TestEveryVendorCallFails(t *testing.T) {
	gputest.EachSimulated(t, func(t *testing.T, sim gputest.Simulated) {
		sim.FailEachCall(t, 10, func(n uint64, during func(func())) {
			d, err := hal.Open(ctx, sim.Device)
			require.NoError(t, err)
			s, err := d.NewStream(hal.StreamOptions{})
			require.NoError(t, err)
			m, err := d.Alloc(hal.KindDevice, 20*kib, 0)
			require.NoError(t, err)
			data, back := random(n, 20*kib), make([]byte, 20*kib)
			var r *staging.Ring
			during(func() {
				if r, err = staging.New(d, staging.Options{Slots: 2, SlotBytes: 4 * kib}); err != nil {
					return
				}
				if err = r.Upload(ctx, s, m.All(), data); err == nil {
					err = r.Download(ctx, s, back, m.All())
				}
			})
			if err == nil {
				require.True(t, bytes.Equal(data, back), "call %d", n)
			}
			if r != nil {
				for range 3 {
					require.NoError(t, r.Upload(ctx, s, m.All(), data), "after call %d", n)
					require.NoError(t, r.Download(ctx, s, back, m.All()), "after call %d", n)
					require.True(t, bytes.Equal(data, back), "after call %d", n)
				}
				require.NoError(t, r.Close())
			}
			require.NoError(t, s.Close())
			require.NoError(t, m.Close())
			require.NoError(t, d.Close())
		})
	})
}

// BenchmarkLink compares the ring with the driver's own copies of pageable memory over a modelled bus. What is modelled is the
// time on the link and the caller that is held up; the host's own copies are real. The ratio cannot exceed
// gputest.LinkLocked / gputest.LinkPageable, 2.5.
func BenchmarkLink(b *testing.B) {
	for _, sim := range gputest.Simulate(b) {
		b.Run(sim.Device, func(b *testing.B) { onLink(b, sim, compare) })
	}
}

// BenchmarkSlots compares numbers and sizes of slots, on the model of BenchmarkLink.
func BenchmarkSlots(b *testing.B) { onLink(b, gputest.Simulate(b)[0], slots) }

// onLink runs a benchmark on a simulated device behind such a bus.
func onLink(b *testing.B, sim gputest.Simulated, run func(*testing.B, *hal.Device)) {
	sim.SlowLink(b)
	d, err := hal.Open(ctx, sim.Device)
	require.NoError(b, err)
	run(b, d)
	require.NoError(b, d.Close())
}

func slots(b *testing.B, d *hal.Device) {
	const n = 16 << 20
	mem, err := d.Alloc(hal.KindDevice, n, 0)
	require.NoError(b, err)
	s, err := d.NewStream(hal.StreamOptions{})
	require.NoError(b, err)
	data := random(1, n)
	for _, count := range []int{1, 2, 3, 4} {
		for _, size := range []uint64{64 * kib, 256 * kib, 1 << 20, 4 << 20} {
			b.Run(fmt.Sprintf("%dx%dKiB", count, size/kib), func(b *testing.B) {
				r, err := staging.New(d, staging.Options{Slots: count, SlotBytes: size})
				require.NoError(b, err)
				b.SetBytes(n)
				for b.Loop() {
					require.NoError(b, r.Upload(ctx, s, mem.All(), data))
					require.NoError(b, s.Sync(ctx))
				}
				require.NoError(b, r.Close())
			})
		}
	}
	require.NoError(b, s.Close())
	require.NoError(b, mem.Close())
}
