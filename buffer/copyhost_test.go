package buffer_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

func TestCopyInAndOut(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s := newStream(t, d)
	b := newBuffer(t, []uint32{1, 2, 3, 4})
	fill(t, s, b, 9)

	// What is overwritten is not read: nothing comes from the device.
	require.NoError(t, b.CopyIn(ctx, []uint32{5, 6, 7, 8}))
	require.Zero(t, b.Stats().BytesCopied)
	require.Equal(t, "HOST_DIRTY", b.State().Name)
	out := make([]uint32, 4)
	require.NoError(t, b.CopyOut(ctx, out))
	require.Equal(t, []uint32{5, 6, 7, 8}, out)
	require.Zero(t, b.Stats().BytesCopied)

	// What is read comes from where it was written, and only what the slice has.
	g := hold(t, s)
	fill(t, s, b, 9)
	middle := cut(t, b, 1, 3)
	require.NoError(t, g.Signal())
	require.NoError(t, middle.CopyOut(ctx, out[:2]))
	require.Equal(t, []uint32{9, 9, 7, 8}, out)
	require.Equal(t, uint64(8), b.Stats().BytesCopied)
	require.NoError(t, middle.CopyIn(ctx, []uint32{1, 2}))
	require.Equal(t, []uint32{9, 1, 2, 9}, contents(t, b))
}

func TestCopyInAndOutAreRefused(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s := newStream(t, d)
	b := newBuffer(t, []uint32{1, 2})
	out := []uint32{7, 7, 7}
	for _, wrong := range [][]uint32{nil, {}, out[:1], out} {
		require.ErrorIs(t, b.CopyIn(ctx, wrong), hal.ErrInvalidArgument)
		require.ErrorIs(t, b.CopyOut(ctx, wrong), hal.ErrInvalidArgument)
	}
	require.ErrorContains(t, b.CopyIn(ctx, out), "the slice has 3 elements, the buffer 2")
	version := b.State().Version

	l, err := b.TryAcquire(s, coherence.ReadWrite)
	require.NoError(t, err)
	over, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, b.CopyOut(over, out[:2]), context.Canceled)
	require.ErrorIs(t, b.CopyIn(askedTimes(2), out[:2]), coherence.ErrConflict)
	require.NoError(t, l.Release())

	require.NoError(t, b.Freeze())
	require.ErrorIs(t, b.CopyIn(ctx, out[:2]), buffer.ErrFrozen)
	require.NoError(t, b.Unfreeze())
	require.Equal(t, []uint32{7, 7, 7}, out)
	require.Equal(t, []uint32{1, 2}, contents(t, b))
	require.Equal(t, version+1, b.State().Version, "the lease alone counts as a write")

	c, err := buffer.New[uint32](2)
	require.NoError(t, err)
	require.NoError(t, c.Close())
	require.ErrorIs(t, c.CopyIn(ctx, out[:2]), hal.ErrClosed)
	require.ErrorIs(t, c.CopyOut(ctx, out[:2]), hal.ErrClosed)
}

func TestCopyInAndOutDoNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	b := newBuffer(t, make([]float32, 64))
	data := make([]float32, 64)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if b.CopyIn(ctx, data) != nil || b.CopyOut(ctx, data) != nil {
			panic("refused")
		}
	}))
}
