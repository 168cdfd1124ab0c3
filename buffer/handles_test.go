package buffer_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// Two parts of a program open one device. A buffer has one replica there, which keeps neither part's handle open, but the last.
func TestHandlesShareReplicas(t *testing.T) {
	ctx := context.Background()
	backend := host.New(host.Options{Discrete: 1})
	var devs [2]*hal.Device
	var streams [2]*hal.Stream
	for i := range devs {
		var err error
		devs[i], err = hal.OpenWith(ctx, backend, 1)
		require.NoError(t, err)
		streams[i], err = devs[i].NewStream()
		require.NoError(t, err)
	}
	b, err := buffer.New[uint32](4, buffer.WithPinnedHost(devs[0]))
	require.NoError(t, err)
	for _, s := range streams {
		l, err := b.TryAcquire(s, coherence.ReadWrite)
		require.NoError(t, err)
		require.NoError(t, s.Fill(l.Region(), hal.Pattern32(7)))
		require.NoError(t, l.Release())
	}
	require.Len(t, b.State().Places, 2, "the host and the device")
	require.Equal(t, uint64(16), devs[0].Usage().Held, "one replica")
	require.NoError(t, streams[0].Close())
	require.NoError(t, devs[0].Close())
	require.NoError(t, b.View(ctx, func(v []uint32) error {
		require.Equal(t, []uint32{7, 7, 7, 7}, v)
		return nil
	}))
	require.NoError(t, streams[1].Close())
	require.ErrorIs(t, devs[1].Close(), hal.ErrBusy)
	require.NoError(t, b.Close())
	require.NoError(t, devs[1].Close())
}
