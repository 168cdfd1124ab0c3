//go:build cuda && hip && linux

package buffer_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/go-halyard/halyard/backends/cuda"
	_ "github.com/go-halyard/halyard/backends/hip"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
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
			kept(t, sim)
			require.NoError(t, sim.Reset(0))
		})
	}
}

func kept(t *testing.T, sim *simgpu.Control) {
	t.Helper()
	require.Empty(t, sim.Violations())
	require.Empty(t, sim.Leaks())
}

// number is what element i holds in a round.
func number(round, i int) uint32 { return uint32(round)<<24 ^ uint32(i)*2654435761 }

// Uploads of pageable memory go through the device's ring, and what the host writes right after does not reach
// them. The ring goes with the last replica.
func TestUploadsAreStaged(t *testing.T) {
	eachSimulation(t, func(t *testing.T, sim *simgpu.Control, name string) {
		for seed := range uint64(8) {
			require.NoError(t, sim.Reset(seed))
			d, err := hal.Open(ctx, name)
			require.NoError(t, err)
			s, err := d.NewStream(hal.StreamOptions{})
			require.NoError(t, err)
			const n = 5 << 18 // 5 MiB: more than the ring's slots take at once
			b, err := buffer.New[uint32](n)
			require.NoError(t, err)
			for round := range 4 {
				require.NoError(t, b.Overwrite(ctx, func(x []uint32) error {
					for i := range x {
						x[i] = number(round, i)
					}
					return nil
				}))
				l, err := b.Acquire(s, coherence.Read)
				require.NoError(t, err)
				pieces, ok := buffer.Staged(d)
				require.True(t, ok)
				require.NotZero(t, pieces)
				copied, err := d.Alloc(hal.KindDevice, 4*n, 0)
				require.NoError(t, err)
				require.NoError(t, s.Copy(copied.All(), l.Region()))
				require.NoError(t, l.Release())
				require.NoError(t, b.Fill(ctx, 1)) // waits for as much as was not staged
				raw := make([]byte, 4*n)
				require.NoError(t, s.CopyOut(raw, copied.All()))
				require.NoError(t, s.Sync(ctx))
				require.NoError(t, copied.Close())
				for i := range n {
					got := uint32(raw[4*i]) | uint32(raw[4*i+1])<<8 | uint32(raw[4*i+2])<<16 | uint32(raw[4*i+3])<<24
					if want := number(round, i); got != want {
						t.Fatalf("seed %d, round %d: element %d is %#x, not %#x", seed, round, i, got, want)
					}
				}
			}
			require.NoError(t, b.Evict(ctx, d))
			require.Eventually(t, func() bool { _, ok := buffer.Staged(d); return !ok }, patience, tick)
			require.NoError(t, b.Close())
			require.NoError(t, s.Close())
			require.NoError(t, d.Close())
			kept(t, sim)
		}
	})
}

// Each vendor call of a staged upload fails in turn. No byte is wrong, and nothing is left behind.
func TestStagedUploadWithFailures(t *testing.T) {
	eachSimulation(t, func(t *testing.T, sim *simgpu.Control, name string) {
		for n := uint64(1); ; n++ {
			require.NoError(t, sim.Reset(n))
			d, err := hal.Open(ctx, name)
			require.NoError(t, err)
			s, err := d.NewStream(hal.StreamOptions{})
			require.NoError(t, err)
			const elems = 300 << 10 / 4
			b, err := buffer.New[uint32](elems)
			require.NoError(t, err)
			require.NoError(t, b.Fill(ctx, uint32(n)))
			before := sim.CallCount()
			sim.FailCall(n, 999)
			l, err := b.Acquire(s, coherence.Read)
			if err == nil {
				_ = l.Release()
			}
			past := sim.CallCount()-before < n
			sim.FailCall(0, 0)
			_ = s.Sync(ctx)
			if err = b.Prefetch(s); err != nil {
				require.NoError(t, b.Prefetch(s), "call %d", n)
			}
			got, err := onDevice(t, s, b)
			require.NoError(t, err, "call %d", n)
			require.False(t, slices.ContainsFunc(got, func(v uint32) bool { return v != uint32(n) }), "call %d", n)
			require.NoError(t, b.Close())
			require.NoError(t, s.Close())
			require.NoError(t, d.Close())
			require.Empty(t, sim.Violations(), "call %d", n)
			require.Empty(t, sim.Leaks(), "call %d", n)
			if past {
				require.Greater(t, n, uint64(8))
				return
			}
		}
	})
}

// BenchmarkStagedUpload is Update and Acquire of 16 MiB, with the ring and without it, over a bus of the model of package
// staging's BenchmarkLink: 0.5 GB/s from page-locked memory, 0.2 GB/s from pageable memory on the calling thread.
func BenchmarkStagedUpload(b *testing.B) {
	cuda, hip := gputest.Libraries(b, "cuda")
	b.Setenv("HALYARD_CUDA_LIBRARY", cuda)
	b.Setenv("HALYARD_HIP_LIBRARY", hip)
	for _, c := range []struct{ name, library string }{{"cuda:0", cuda}, {"hip:0", hip}} {
		sim, err := simgpu.Attach(c.library)
		require.NoError(b, err)
		require.NoError(b, sim.Reset(0))
		require.NoError(b, sim.Set(simgpu.Validate, 0))
		require.NoError(b, sim.Set(simgpu.Pageable, 200_000))
		sim.Link(500_000)
		for _, staged := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/staged=%t", c.name, staged), func(b *testing.B) {
				d, err := hal.Open(ctx, c.name)
				require.NoError(b, err)
				if !staged {
					buffer.Unstaged(d)
				}
				s, err := d.NewStream(hal.StreamOptions{})
				require.NoError(b, err)
				x, err := buffer.New[uint32](4 << 20)
				require.NoError(b, err)
				b.SetBytes(16 << 20)
				for b.Loop() {
					require.NoError(b, x.Update(ctx, func(v []uint32) error { v[0]++; return nil }))
					l, err := x.Acquire(s, coherence.Read)
					require.NoError(b, err)
					require.NoError(b, l.Release())
					require.NoError(b, s.Sync(ctx))
				}
				require.NoError(b, x.Close())
				require.NoError(b, s.Close())
				require.NoError(b, d.Close())
			})
		}
		sim.Link(0)
		require.NoError(b, sim.Set(simgpu.Pageable, 0))
		require.NoError(b, sim.Set(simgpu.Validate, 1))
		require.NoError(b, sim.Reset(0))
	}
}
