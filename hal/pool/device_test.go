package pool_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
)

// What every device that there is must do; more of them come with the build tags.
func TestEveryDevice(t *testing.T) {
	infos, err := hal.Devices(ctx)
	require.NoError(t, err)
	require.NotEmpty(t, infos)
	for _, info := range infos {
		t.Run(info.Name(), func(t *testing.T) {
			d, err := hal.Open(ctx, info.Name())
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, d.Close()) })
			t.Logf("%s, tier %q, %v", info.Model, info.MemoryModel, info.Caps)
			p := newPool(t, d)
			a, b := newStream(t, d), newStream(t, d)
			for _, kind := range []hal.Kind{hal.KindDevice, hal.KindHost, hal.KindShared} {
				if kind == hal.KindShared && !info.Caps.Has(hal.CapShared) {
					_, err := p.Alloc(a, kind, 1)
					require.ErrorIs(t, err, hal.ErrUnsupported)
					continue
				}
				for round := range 3 {
					var blocks []pool.Block
					var outs [][]byte
					for i, size := range []uint64{1, 300, 5000, 70 * kib, 5 * mib, 300} {
						x, err := p.Alloc(a, kind, size)
						require.NoError(t, err)
						r := region(t, x)
						if info.Caps.Has(hal.CapAddress) {
							require.Zero(t, (uint64(r.Mem.Handle())+r.Off)%info.Alignment)
						} else {
							require.Zero(t, r.Off)
						}
						fill(t, a, x, byte(10*round+i+1))
						blocks = append(blocks, x)
					}
					for i, x := range blocks {
						out := make([]byte, x.Size())
						require.NoError(t, a.CopyOut(out, region(t, x)))
						outs = append(outs, out)
						if i%2 == 0 {
							require.NoError(t, x.RecordUse(b))
						}
						free(t, x, a)
					}
					finish(t, a)
					for i, out := range outs {
						require.Equal(t, len(out), bytes.Count(out, []byte{byte(10*round + i + 1)}), "block %d", i)
					}
				}
			}
			require.LessOrEqual(t, p.Stats().DeviceAllocs, uint64(3*12))
			finish(t, b)
			p.Trim(0)
			require.Zero(t, p.Stats().Reserved)
		})
	}
}
