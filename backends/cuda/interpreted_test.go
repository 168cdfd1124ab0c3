//go:build cuda && linux

package cuda

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
)

// interpreted loads PTX on a simulated device, which interprets it. NVIDIA's compiler made the PTX.
func interpreted(t *testing.T, file string) (*hal.Device, *hal.Stream, *hal.Module) {
	t.Helper()
	h := harness(t)
	t.Setenv(h.Env, h.Library)
	text, err := os.ReadFile(filepath.Join("..", "..", "internal", "testing", "simgpu", "testdata", "ptx", file))
	require.NoError(t, err)
	dev, err := hal.OpenWith(t.Context(), h.New(), 0)
	require.NoError(t, err)
	s, err := dev.NewStream()
	require.NoError(t, err)
	m, err := dev.Load(hal.Image{Format: hal.FormatPTX, Data: text})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, hal.CloseAll(dev, s, m)) })
	return dev, s, m
}

func deviceInts(t *testing.T, dev *hal.Device, v []uint32) *hal.Memory {
	t.Helper()
	b := make([]byte, 4*len(v))
	for i := range v {
		binary.LittleEndian.PutUint32(b[4*i:], v[i])
	}
	m, err := dev.Alloc(hal.KindDevice, uint64(len(b)), 0)
	require.NoError(t, err)
	require.NoError(t, dev.Write(t.Context(), m.All(), b))
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	return m
}

// The kernel uses shared memory, barriers and atomic additions.
func TestCompiledTextIsInterpreted(t *testing.T) {
	dev, s, m := interpreted(t, "blocks.ptx")
	k, err := m.Kernel("reduce")
	require.NoError(t, err)
	const n = 1000
	v, want := make([]uint32, n), uint32(0)
	for i := range v {
		v[i] = uint32(3*i + 1)
		want += v[i]
	}
	sum, x := deviceInts(t, dev, []uint32{0}), deviceInts(t, dev, v)
	args := []hal.Arg{hal.At(sum.All()), hal.At(x.All()), hal.Value(int32(n)), hal.Shared(4 * 64)}
	require.NoError(t, s.Launch(k, hal.Over(n).Of(64), args...))
	got := make([]byte, 4)
	require.NoError(t, s.CopyOut(got, sum.All()))
	require.NoError(t, s.Sync(t.Context()))
	assert.Equal(t, want, binary.LittleEndian.Uint32(got))

	require.ErrorIs(t, s.Launch(k, hal.Over(n).Of(64), args[:2]...), hal.ErrInvalidArgument)
	_, err = m.Kernel("reduction")
	require.ErrorIs(t, err, hal.ErrNotFound)
}
