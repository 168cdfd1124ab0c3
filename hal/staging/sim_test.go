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
	"github.com/go-halyard/halyard/internal/simgpu"
)

// eachSimulation runs a test on the simulated drivers, whose rules must have been kept when it is over.
func eachSimulation(t *testing.T, test func(t *testing.T, sim *simgpu.Control, name string)) {
	cuda, hip := gputest.Libraries(t, "cuda")
	t.Setenv("HALYARD_CUDA_LIBRARY", cuda)
	t.Setenv("HALYARD_HIP_LIBRARY", hip)
	for _, c := range []struct{ name, library string }{{"cuda:0", cuda}, {"hip:0", hip}} {
		t.Run(c.name, func(t *testing.T) {
			sim, err := simgpu.Attach(c.library)
			require.NoError(t, err)
			require.NoError(t, sim.Reset(0))
			test(t, sim, c.name)
			for _, v := range sim.Violations() {
				t.Errorf("the driver's rules were broken: %s", v)
			}
			for _, l := range sim.Leaks() {
				t.Errorf("still alive: %s", l)
			}
			require.NoError(t, sim.Reset(0))
		})
	}
}

// The simulated drivers run work in any order that streams and events allow.
func TestAnyOrder(t *testing.T) {
	eachSimulation(t, func(t *testing.T, sim *simgpu.Control, name string) {
		for seed := range uint64(40) {
			require.NoError(t, sim.Reset(seed))
			d, err := hal.Open(ctx, name)
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
			require.Empty(t, sim.Violations(), "seed %d", seed)
			require.Empty(t, sim.Leaks(), "seed %d", seed)
		}
	})
}

// Whatever call of the vendor's fails, the error is reported or the bytes are right, and nothing is left behind.
func TestEveryVendorCallFails(t *testing.T) {
	eachSimulation(t, func(t *testing.T, sim *simgpu.Control, name string) {
		for n := uint64(1); ; n++ {
			require.NoError(t, sim.Reset(n))
			d, err := hal.Open(ctx, name)
			require.NoError(t, err)
			s, err := d.NewStream(hal.StreamOptions{})
			require.NoError(t, err)
			m, err := d.Alloc(hal.KindDevice, 20*kib, 0)
			require.NoError(t, err)
			data, back := random(n, 20*kib), make([]byte, 20*kib)
			before := sim.CallCount()
			sim.FailCall(n, 999)
			r, err := staging.New(d, staging.Options{Slots: 2, SlotBytes: 4 * kib})
			if err == nil {
				if err = r.Upload(ctx, s, m.All(), data); err == nil {
					err = r.Download(ctx, s, back, m.All())
				}
			}
			past := sim.CallCount()-before < n
			sim.FailCall(0, 0)
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
			require.Empty(t, sim.Violations(), "call %d", n)
			require.Empty(t, sim.Leaks(), "call %d", n)
			if past {
				require.Greater(t, n, uint64(10))
				return
			}
		}
	})
}

// link is a model of a bus: what crosses it in a millisecond from page-locked memory, and from pageable memory, which the driver
// takes through a buffer of its own on the thread that calls. The rates have the proportion of a PCIe 4 link of 25 GB/s
// and a driver that stages 10 GB/s, at a fiftieth of the speed: then the processors of any machine keep up, and the model decides.
const (
	linkLocked   = 500_000 // bytes in a millisecond
	linkPageable = 200_000
)

// onLink opens a simulated device behind such a link, without the checks that cost time.
func onLink(b *testing.B, name string) (d *hal.Device, stop func()) {
	cuda, hip := gputest.Libraries(b, "cuda")
	b.Setenv("HALYARD_CUDA_LIBRARY", cuda)
	b.Setenv("HALYARD_HIP_LIBRARY", hip)
	library := map[string]string{"cuda:0": cuda, "hip:0": hip}[name]
	sim, err := simgpu.Attach(library)
	require.NoError(b, err)
	require.NoError(b, sim.Reset(0))
	require.NoError(b, sim.Set(simgpu.Validate, 0))
	require.NoError(b, sim.Set(simgpu.Pageable, linkPageable))
	sim.Link(linkLocked)
	d, err = hal.Open(ctx, name)
	require.NoError(b, err)
	return d, func() {
		require.NoError(b, d.Close())
		sim.Link(0)
		require.NoError(b, sim.Set(simgpu.Pageable, 0))
		require.NoError(b, sim.Set(simgpu.Validate, 1))
		require.NoError(b, sim.Reset(0))
	}
}

// BenchmarkLink compares the ring with the driver's own copies of pageable memory over a link of the model above. What is modelled is the
// time on the link and the caller that is held up; the host's own copies are real. The ratio cannot exceed linkLocked /
// linkPageable, 2.5.
func BenchmarkLink(b *testing.B) {
	for _, name := range []string{"cuda:0", "hip:0"} {
		b.Run(name, func(b *testing.B) {
			d, stop := onLink(b, name)
			defer stop()
			compare(b, d)
		})
	}
}

// BenchmarkSlots compares numbers and sizes of slots, on the model of BenchmarkLink.
func BenchmarkSlots(b *testing.B) {
	d, stop := onLink(b, "cuda:0")
	defer stop()
	slots(b, d)
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
