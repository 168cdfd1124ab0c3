//go:build cuda && hip && linux

package buffer_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/go-halyard/halyard/backends/cuda"
	_ "github.com/go-halyard/halyard/backends/hip"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/cudahiptest"
)

// number is what element i holds in a round.
func number(round, i int) uint32 { return uint32(round)<<24 ^ uint32(i)*2654435761 }

// What the host writes right after an upload of pageable memory does not reach it.
func TestUploadKeepsWhatWasWritten(t *testing.T) {
	cudahiptest.EachSimulated(t, func(t *testing.T, sim cudahiptest.Simulated) {
		for seed := range uint64(8) {
			require.NoError(t, sim.Reset(seed))
			d, err := hal.Open(ctx, sim.Device)
			require.NoError(t, err)
			s, err := d.NewStream()
			require.NoError(t, err)
			const n = 5 << 18 // 5 MiB: more than a stream takes at once
			b, err := buffer.New[uint32](n)
			require.NoError(t, err)
			for round := range 4 {
				require.NoError(t, b.Overwrite(ctx, func(x []uint32) error {
					for i := range x {
						x[i] = number(round, i)
					}
					return nil
				}))
				l, err := b.TryAcquire(s, coherence.Read)
				require.NoError(t, err)
				copied, err := d.Alloc(hal.KindDevice, 4*n, 0)
				require.NoError(t, err)
				require.NoError(t, s.Copy(copied.All(), l.Region()))
				require.NoError(t, l.Release())
				require.NoError(t, b.Fill(ctx, 1))
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
			require.NoError(t, b.Close())
			require.NoError(t, s.Close())
			require.NoError(t, d.Close())
			sim.Kept(t, "seed", seed)
		}
	})
}

// Each vendor call of a staged upload fails in turn. No byte is wrong, and nothing is left behind.
func TestStagedUploadWithFailures(t *testing.T) {
	cudahiptest.EachSimulated(t, func(t *testing.T, sim cudahiptest.Simulated) {
		sim.FailEachCall(t, 8, func(n uint64, during func(func())) {
			d, err := hal.Open(ctx, sim.Device)
			require.NoError(t, err)
			s, err := d.NewStream()
			require.NoError(t, err)
			const elems = 300 << 10 / 4
			b, err := buffer.New[uint32](elems)
			require.NoError(t, err)
			require.NoError(t, b.Fill(ctx, uint32(n)))
			during(func() {
				if l, err := b.TryAcquire(s, coherence.Read); err == nil {
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
