package buffer_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// A device goes away after all work on it has ended well. No access copies from it any more: what another place holds is read from there, a buffer that was
// never written still reads as zeros, and what only the lost device had is lost.
func TestNothingIsCopiedFromALostDevice(t *testing.T) {
	lost := atomic.Bool{}
	b := &hooked.Backend{Backend: host.New(host.Options{Name: "passing", Discrete: 2})}
	b.Call = func(op string, ordinal int) error {
		if lost.Load() && ordinal == 1 {
			return hal.Errorf(op, hal.ErrDeviceLost, "it has gone")
		}
		return nil
	}
	var streams []*hal.Stream
	for ordinal := 1; ordinal <= 2; ordinal++ {
		d, err := hal.OpenWith(context.Background(), b, ordinal)
		require.NoError(t, err)
		s, err := d.NewStream()
		require.NoError(t, err)
		streams = append(streams, s)
	}
	write := func(x *buffer.Buffer[uint32], s *hal.Stream, v uint32) {
		l, err := x.TryAcquire(s, coherence.Overwrite)
		require.NoError(t, err)
		require.NoError(t, s.Fill(l.Region(), hal.Pattern32(v)))
		require.NoError(t, l.Release())
	}
	unwritten := func() *buffer.Buffer[uint32] {
		x, err := buffer.New[uint32](4)
		require.NoError(t, err)
		t.Cleanup(func() { _ = x.Close() })
		return x
	}
	both, only, never := unwritten(), unwritten(), unwritten()
	require.NoError(t, both.Prefetch(streams[0])) // the first place is that of the device that goes away
	write(both, streams[1], 7)
	require.NoError(t, both.Prefetch(streams[0]))
	write(only, streams[0], 8)
	require.NoError(t, never.Prefetch(streams[0]))
	for _, s := range streams {
		require.NoError(t, s.Sync(ctx))
	}
	lost.Store(true)

	read := func(x *buffer.Buffer[uint32]) (got []uint32, err error) {
		got = make([]uint32, 4)
		return got, x.CopyOut(ctx, got)
	}
	for x, want := range map[*buffer.Buffer[uint32]]uint32{both: 7, never: 0} {
		var got []uint32
		var err error
		for range 3 { // the first access may be the one that finds the device lost
			if got, err = read(x); err == nil {
				break
			}
			require.ErrorIs(t, err, hal.ErrDeviceLost)
		}
		require.NoError(t, err)
		require.Equal(t, []uint32{want, want, want, want}, got)
	}
	for range 3 {
		_, err := read(only)
		require.ErrorIs(t, err, hal.ErrDeviceLost)
	}
	write(only, streams[1], 9)
	got, err := read(only)
	require.NoError(t, err)
	require.Equal(t, []uint32{9, 9, 9, 9}, got)
}

// A device goes away as it is about to copy from another device. That one can be used as before.
func TestADeviceLostDuringACopyHoldsUpNoOther(t *testing.T) {
	lost := atomic.Bool{}
	b := &hooked.Backend{Backend: host.New(host.Options{Name: "passing", Discrete: 2})}
	b.Call = func(op string, ordinal int) error {
		if lost.Load() && ordinal == 1 {
			return hal.Errorf(op, hal.ErrDeviceLost, "it has gone")
		}
		return nil
	}
	var streams []*hal.Stream
	for ordinal := 1; ordinal <= 2; ordinal++ {
		d, err := hal.OpenWith(context.Background(), b, ordinal)
		require.NoError(t, err)
		s, err := d.NewStream()
		require.NoError(t, err)
		streams = append(streams, s)
	}
	x, err := buffer.New[uint32](4)
	require.NoError(t, err)
	t.Cleanup(func() { _ = x.Close() })
	require.NoError(t, x.Prefetch(streams[0]))
	fill(t, streams[1], x, 7)
	lost.Store(true)
	require.ErrorIs(t, x.Prefetch(streams[0]), hal.ErrDeviceLost)
	other, err := streams[1].Device().NewStream()
	require.NoError(t, err)
	fill(t, other, x, 8)
	require.Equal(t, []uint32{8, 8, 8, 8}, contents(t, x))
}
