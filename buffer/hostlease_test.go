package buffer_test

import (
	"context"
	"errors"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

func TestHostLease(t *testing.T) {
	d := openMany(t, "host", 1, 1)[0]
	s := newStream(t, d)
	b, err := buffer.From([]int32{1, 2, 3, 4})
	require.NoError(t, err)
	lease, err := b.TryAcquire(s, coherence.Overwrite)
	require.NoError(t, err)
	require.NoError(t, s.Fill(lease.Region(), hal.Pattern32(7)))
	require.NoError(t, lease.Release())

	part, err := b.Slice(1, 3)
	require.NoError(t, err)
	mine, err := part.AcquireHost(ctx, coherence.ReadWrite)
	require.NoError(t, err)
	got := unsafe.Slice((*int32)(mine.Pointer()), 2)
	require.Equal(t, []int32{7, 7}, got, "the device's bytes have come")
	got[1] = 70

	short, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, part.View(short, func([]int32) error { panic("ran") }), hal.ErrNotReady)
	_, err = b.TryAcquire(s, coherence.Read)
	require.ErrorIs(t, err, hal.ErrBusy)
	var conflict *buffer.ConflictError
	require.ErrorAs(t, b.Close(), &conflict)
	require.Equal(t, "Close", conflict.Requested.Action)
	require.Equal(t, "host", conflict.Holder.Place)
	require.Contains(t, conflict.Holder.Site, "hostlease_test.go")
	require.NotContains(t, conflict.Holder.Site, "hostlease.go")
	first, err := b.Slice(0, 1)
	require.NoError(t, err)
	require.NoError(t, first.View(ctx, func([]int32) error { return nil }), "other elements are free")

	require.NoError(t, mine.Release())
	require.ErrorIs(t, mine.Release(), hal.ErrClosed)
	require.Nil(t, mine.Pointer())
	require.Equal(t, []int32{7, 7, 70, 7}, contents(t, b))
	require.NoError(t, b.SyncTo(ctx, d), "what the host wrote goes back")

	// Readers share, and a stale lease does not touch the one that has its slot now.
	one, err := b.AcquireHost(ctx, coherence.Read)
	require.NoError(t, err)
	require.Nil(t, mine.Pointer())
	require.ErrorIs(t, mine.Release(), hal.ErrClosed)
	two, err := b.AcquireHost(ctx, coherence.Read)
	require.NoError(t, err)
	require.Equal(t, one.Pointer(), two.Pointer())
	require.NoError(t, one.Release())
	require.ErrorIs(t, b.Close(), hal.ErrBusy)
	require.NoError(t, two.Release())

	_, err = b.AcquireHost(ctx, coherence.Mode(3))
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	require.ErrorIs(t, buffer.HostLease{}.Release(), hal.ErrClosed)
	require.Nil(t, buffer.HostLease{}.Pointer())
	require.NoError(t, b.Close())
	_, err = b.AcquireHost(ctx, coherence.Read)
	require.ErrorIs(t, err, hal.ErrClosed)
}

func TestFailedHostLease(t *testing.T) {
	d := openMany(t, "host", 1, 1)[0]
	s := newStream(t, d)
	b, err := buffer.From([]int32{1, 2, 3, 4, 5, 6})
	require.NoError(t, err)
	require.NoError(t, b.SyncTo(ctx, d))
	part, err := b.Slice(2, 4)
	require.NoError(t, err)
	cause := errors.New("nothing came")

	reading, err := part.AcquireHost(ctx, coherence.Read)
	require.NoError(t, err)
	require.ErrorIs(t, reading.Fail(cause), hal.ErrInvalidArgument)
	require.NotNil(t, reading.Pointer(), "the lease is still open")
	require.NoError(t, reading.Release())

	for _, mode := range []coherence.Mode{coherence.Overwrite, coherence.ReadWrite} {
		lease, err := part.AcquireHost(ctx, mode)
		require.NoError(t, err)
		require.ErrorIs(t, lease.Fail(nil), hal.ErrInvalidArgument)
		require.NotNil(t, lease.Pointer())
		require.NoError(t, lease.Fail(cause))
		require.ErrorIs(t, lease.Fail(cause), hal.ErrClosed)
		require.ErrorIs(t, lease.Release(), hal.ErrClosed)

		for range 2 { // not only the first access is told
			err = b.View(ctx, func([]int32) error { panic("ran") })
			require.ErrorIs(t, err, hal.ErrDeviceLost)
			require.ErrorIs(t, err, cause)
			require.ErrorContains(t, err, "View: device lost: the last write failed")
		}
		_, err = part.TryAcquire(s, coherence.Read)
		require.ErrorIs(t, err, cause, "on a device, too")
		_, err = part.AcquireHost(ctx, coherence.ReadWrite)
		require.ErrorIs(t, err, cause)
		rest, err := b.Slice(4, 6)
		require.NoError(t, err)
		require.Equal(t, []int32{5, 6}, contents(t, rest), "other elements are as they were")

		half, err := b.Slice(2, 3)
		require.NoError(t, err)
		require.NoError(t, half.Overwrite(ctx, func(s []int32) error { s[0] = 30; return nil }))
		require.Equal(t, []int32{30}, contents(t, half))
		require.ErrorIs(t, part.View(ctx, func([]int32) error { panic("ran") }), cause, "the other half is still lost")
		require.NoError(t, part.Overwrite(ctx, func(s []int32) error { s[0], s[1] = 3, 4; return nil }))
		require.Equal(t, []int32{1, 2, 3, 4, 5, 6}, contents(t, b))
	}
	require.ErrorIs(t, buffer.HostLease{}.Fail(cause), hal.ErrClosed)
	require.NoError(t, b.Close())
}
