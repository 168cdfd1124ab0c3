package buffer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
	"github.com/go-halyard/halyard/internal/testing/zerotest"
)

// Buffers that no call made are refused, by every method there is.
func TestNilAndZeroBuffers(t *testing.T) {
	zerotest.Receivers[buffer.Buffer[int32]](t)
	var zero buffer.Buffer[int32]
	require.Equal(t, int64(-1), zero.Version(nil))
	_, err := buffer.Reinterpret[int64](&zero)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	_, err = buffer.AcquireAll(ctx, newStream(t, openMany(t, "one", 1, 1)[0]), zero.Want(coherence.Read))
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
}

// So are handles of package hal. A nil device stands for the host where that has a place among the devices, and a device that has no replica
// has none to evict.
func TestNilAndZeroHandles(t *testing.T) {
	zerotest.Arguments(t, func() *buffer.Buffer[int32] { return newBuffer(t, []int32{1}) }, "SyncTo", "Evict")
	b := newBuffer(t, []int32{1})
	require.ErrorIs(t, b.SyncTo(ctx, new(hal.Device)), hal.ErrInvalidArgument)
	for _, d := range []*hal.Device{nil, {}} {
		buffer.SetBudget(d, 1)
		buffer.SetAllocator(d, nil)
		require.Zero(t, buffer.ResidencyOf(d))
		c, err := buffer.New[int32](4, buffer.WithAllocator(d, pool.Direct(d)))
		require.NoError(t, err)
		require.NoError(t, c.Update(ctx, func([]int32) error { return nil }))
		require.NoError(t, c.Close())
	}
	c, err := buffer.New[int32](4, buffer.WithPinnedHost(new(hal.Device)))
	require.NoError(t, err)
	require.ErrorIs(t, c.Update(ctx, func([]int32) error { return nil }), hal.ErrInvalidArgument)
	require.NoError(t, c.Close())
	for _, m := range []*hal.Memory{nil, {}} {
		_, err := buffer.Adopt[int32](m)
		require.ErrorIs(t, err, hal.ErrInvalidArgument)
	}
	for _, s := range []*hal.Stream{nil, {}} {
		_, err := buffer.AcquireAll(ctx, s, b.Want(coherence.Read))
		require.ErrorIs(t, err, hal.ErrInvalidArgument)
	}
}

// Leases that were released are stale, and work on them says so.
func TestReleasedLeasesSaySo(t *testing.T) {
	s := newStream(t, openMany(t, "one", 1, 1)[0])
	b := newBuffer(t, make([]int32, 4))
	l, err := b.TryAcquire(s, coherence.ReadWrite)
	require.NoError(t, err)
	require.NoError(t, l.Release())
	all, err := buffer.AcquireAll(ctx, s, b.Want(coherence.Read))
	require.NoError(t, err)
	one := all.At(0)
	require.NoError(t, all.Release())
	for _, stale := range []buffer.Lease{l, one, {}} {
		r := stale.Region()
		for name, err := range map[string]error{
			"fill":     s.Fill(r, hal.Zero),
			"copy in":  s.CopyIn(r, make([]byte, 16)),
			"copy out": s.CopyOut(make([]byte, 16), r),
			"copy":     s.Copy(r, r),
			"use":      s.RecordUse(r.Mem),
			"across":   hal.CopyPeer(s, r, s, r),
			"read":     s.Device().Read(ctx, make([]byte, 16), r),
			"part":     func() error { _, err := r.Sub(0, 4); return err }(),
		} {
			require.ErrorIs(t, err, hal.ErrInvalidArgument, name)
			require.ErrorContains(t, err, "the Region of a released lease is zero", name)
		}
		require.Error(t, stale.Release())
	}
}
