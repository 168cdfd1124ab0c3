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
)

// number is what element i holds in a round.
func number(round, i int) uint32 { return uint32(round)<<24 ^ uint32(i)*2654435761 }

// Uploads of pageable memory go through the device's ring, and what the host writes right after does not reach
// them. The ring goes with the last replica.
func TestUploadsAreStaged(t *testing.T) {
	gputest.EachSimulated(t, func(t *testing.T, sim gputest.Simulated) {
		for seed := range uint64(8) {
			require.NoError(t, sim.Reset(seed))
			d, err := hal.Open(ctx, sim.Device)
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
			sim.Kept(t, "seed", seed)
		}
	})
}

// Each vendor call of a staged upload fails in turn. No byte is wrong, and nothing is left behind.
func TestStagedUploadWithFailures(t *testing.T) {
	gputest.EachSimulated(t, func(t *testing.T, sim gputest.Simulated) {
		sim.FailEachCall(t, 8, func(n uint64, during func(func())) {
			d, err := hal.Open(ctx, sim.Device)
			require.NoError(t, err)
			s, err := d.NewStream(hal.StreamOptions{})
			require.NoError(t, err)
			const elems = 300 << 10 / 4
			b, err := buffer.New[uint32](elems)
			require.NoError(t, err)
			require.NoError(t, b.Fill(ctx, uint32(n)))
			during(func() {
				if l, err := b.Acquire(s, coherence.Read); err == nil {
					_ = l.Release()
				}
			})
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
		})
	})
}

// BenchmarkStagedUpload is Update and Acquire of 16 MiB, with the ring and without it, over a modelled bus.
func BenchmarkStagedUpload(b *testing.B) {
	for _, sim := range gputest.Simulate(b) {
		sim.SlowLink(b)
		for _, staged := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/staged=%t", sim.Device, staged), func(b *testing.B) {
				d, err := hal.Open(ctx, sim.Device)
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
	}
}
