package buffer_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

func TestLeaseOnClosedStream(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s := newStream(t, d)
	b, err := buffer.New[uint32](512)
	require.NoError(t, err)
	fill(t, s, b, 1)
	require.NoError(t, s.Sync(ctx))
	own, err := d.NewStream()
	require.NoError(t, err)
	l, err := b.TryAcquire(own, coherence.ReadWrite)
	require.NoError(t, err)
	g, err := own.Gate() // what the program enqueues on the handle itself is behind it
	require.NoError(t, err)
	require.NoError(t, own.Close())
	require.ErrorIs(t, l.Release(), hal.ErrClosed)
	require.NoError(t, b.Close())
	held := d.Usage().Held
	require.NoError(t, g.Signal())
	require.Equal(t, uint64(2048), held)
	require.NoError(t, d.Reclaim(ctx))
	require.Zero(t, d.Usage().Held)
}

// A copy that cannot have its source leaves the destination as it was.
func TestCopyFromLost(t *testing.T) {
	devs := openMany(t, "one", 2, 1, 2)
	s, o := newStream(t, devs[0]), newStream(t, devs[1])
	for name, lock := range map[string]func(src *buffer.Buffer[uint32]) func() error{
		"on the host": func(src *buffer.Buffer[uint32]) func() error {
			l, err := src.AcquireHost(ctx, coherence.ReadWrite)
			require.NoError(t, err)
			return l.Release
		},
		"on a device": func(src *buffer.Buffer[uint32]) func() error {
			l, err := src.TryAcquire(s, coherence.ReadWrite)
			require.NoError(t, err)
			return l.Release
		},
	} {
		for _, first := range []bool{true, false} {
			var dst, src *buffer.Buffer[uint32]
			if first {
				dst, src = written(t, o, 4, 7), written(t, s, 4, 9)
			} else {
				src, dst = written(t, s, 4, 9), written(t, o, 4, 7)
			}
			end := lock(src)
			version := dst.Version(devs[1])
			short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
			require.ErrorIs(t, dst.CopyFrom(short, src), hal.ErrNotReady)
			cancel()
			require.NoError(t, end())
			require.Equal(t, version, dst.Version(devs[1]), "%s, %t", name, first)
			require.Equal(t, []uint32{7, 7, 7, 7}, contents(t, dst), "%s, %t", name, first)
			require.NoError(t, dst.CopyFrom(ctx, src))
			require.Equal(t, []uint32{9, 9, 9, 9}, contents(t, dst), "%s, %t", name, first)
		}
	}
}
