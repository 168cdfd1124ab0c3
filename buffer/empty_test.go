package buffer_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
)

// A length of 0 is a length like any other: everything works on no elements, whatever the buffer's memory is and wherever the slice lies.
func TestNoElements(t *testing.T) {
	devs := openMany(t, "one", 1, 0, 1)
	unified, other := devs[0], devs[1]
	made := func(b *buffer.Buffer[uint32], err error) *buffer.Buffer[uint32] {
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, b.Close()) })
		return b
	}
	part := func(b *buffer.Buffer[uint32], i int) *buffer.Buffer[uint32] {
		p, err := b.Slice(i, i)
		require.NoError(t, err)
		return p
	}
	p, err := pool.New(other)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	device, err := other.Alloc(hal.KindDevice, 0, 0)
	require.NoError(t, err)
	host, err := unified.Alloc(hal.KindHost, 0, 0)
	require.NoError(t, err)
	released := 0
	whole := made(buffer.From([]uint32{1, 2, 3}))
	for name, b := range map[string]*buffer.Buffer[uint32]{
		"new":            made(buffer.New[uint32](0)),
		"from":           made(buffer.From([]uint32{})),
		"from nil":       made(buffer.From[uint32](nil)),
		"pinned":         made(buffer.New[uint32](0, buffer.WithPinnedHost(other))),
		"guarded":        made(buffer.New[uint32](0, buffer.WithGuard())),
		"pooled":         made(buffer.New[uint32](0, buffer.WithAllocator(other, p))),
		"adopted":        made(buffer.Adopt[uint32](device)),
		"adopted host":   made(buffer.Adopt[uint32](host)),
		"adopted slice":  made(buffer.AdoptSlice[uint32](nil, func() { released++ })),
		"slice of empty": part(made(buffer.New[uint32](0)), 0),
		"beginning":      part(whole, 0),
		"middle":         part(whole, 2),
		"end":            part(whole, 3),
	} {
		t.Run(name, func(t *testing.T) {
			require.Zero(t, b.Len())
			runs := 0
			none := func(s []uint32) error { runs++; require.Empty(t, s); return nil }
			require.NoError(t, b.View(ctx, none))
			require.NoError(t, b.Update(ctx, none))
			require.NoError(t, b.Overwrite(ctx, none))
			require.NoError(t, b.AccessRanges(ctx, coherence.ReadWrite, nil, none))
			require.NoError(t, b.AccessRanges(ctx, coherence.Overwrite, []buffer.Range{{0, 0}, {0, 0}}, none))
			require.Equal(t, 5, runs)
			require.NoError(t, b.CopyIn(ctx, nil))
			require.NoError(t, b.CopyOut(ctx, []uint32{}))
			require.NoError(t, b.Fill(ctx, 7))
			_, err := b.At(ctx, 0)
			require.ErrorIs(t, err, hal.ErrOutOfRange)
			require.ErrorIs(t, b.CopyIn(ctx, []uint32{1}), hal.ErrInvalidArgument)
			for _, d := range devs {
				s := newStream(t, d)
				for _, mode := range []coherence.Mode{coherence.Read, coherence.ReadWrite, coherence.Overwrite, coherence.Read} {
					l, err := b.TryAcquire(s, mode)
					require.NoError(t, err)
					require.Equal(t, mode, l.Mode())
					require.Zero(t, l.Region().Len)
					require.Equal(t, name != "beginning" && name != "middle" && name != "end", l.Pointer() == 0)
					require.NoError(t, s.Fill(l.Region(), hal.Zero))
					require.NoError(t, l.Release())
				}
				all, err := buffer.AcquireAll(ctx, s, b.Want(coherence.Overwrite), whole.Want(coherence.Read), part(whole, 1).Want(coherence.Overwrite), b.Want(coherence.Read))
				require.NoError(t, err)
				require.Zero(t, all.At(0).Region().Len)
				require.EqualValues(t, 12, all.At(1).Region().Len)
				require.NoError(t, all.Release())
				all, err = buffer.AcquireAll(ctx, s, part(whole, 1).Want(coherence.Read), part(whole, 2).Want(coherence.Overwrite))
				require.NoError(t, err)
				require.NoError(t, all.Release())
				l, err := b.AcquireRanges(ctx, s, coherence.Overwrite, []buffer.Range{{0, 0}})
				require.NoError(t, err)
				require.NoError(t, l.ReleaseChecked(func() error { return nil }))
				require.NoError(t, b.Prefetch(s))
				require.NoError(t, b.FillOn(ctx, s, 5))
				require.NoError(t, b.SyncTo(ctx, d))
				require.NoError(t, b.MarkModified(s))
				require.GreaterOrEqual(t, b.Version(d), int64(0))
				_, err = b.Memory(d)
				require.NoError(t, err)
			}
			require.NoError(t, b.SyncTo(ctx, nil))
			require.NotEqual(t, "UNINITIALIZED", b.State().Name)
			h, err := b.AcquireHost(ctx, coherence.ReadWrite)
			require.NoError(t, err)
			require.NoError(t, h.Release())
			require.NoError(t, b.Reset())
			require.NoError(t, b.Freeze())
			require.ErrorIs(t, b.Update(ctx, none), buffer.ErrFrozen)
			require.NoError(t, b.Unfreeze())
			c := made(b.Clone(ctx))
			require.Zero(t, c.Len())
			require.NoError(t, b.CopyFrom(ctx, c))
			bytes, err := buffer.Reinterpret[uint8](b)
			require.NoError(t, err)
			require.Zero(t, bytes.Len())
		})
	}
	require.Equal(t, []uint32{1, 2, 3}, contents(t, whole))
	require.Zero(t, released)
}

// An access of no elements excludes nothing, and yet is an access: its buffer does not close, and a closed one refuses it.
func TestNoElementsExcludeNothing(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s := newStream(t, d)
	b := newBuffer(t, []uint32{1, 2, 3, 4})
	none, err := b.Slice(2, 2)
	require.NoError(t, err)
	writing, err := b.TryAcquire(s, coherence.ReadWrite)
	require.NoError(t, err)
	reading, err := none.TryAcquire(newStream(t, d), coherence.ReadWrite)
	require.NoError(t, err)
	require.NoError(t, none.Update(ctx, func([]uint32) error { return nil }))
	require.NoError(t, writing.Release())
	require.NoError(t, b.Update(ctx, func(x []uint32) error { x[1] = 9; return nil }))
	var conflict *buffer.ConflictError
	require.ErrorAs(t, b.Close(), &conflict)
	require.NoError(t, reading.Release())
	require.Equal(t, []uint32{1, 9, 3, 4}, contents(t, b))

	lost := errors.New("lost")
	bad, err := b.TryAcquire(s, coherence.ReadWrite)
	require.NoError(t, err)
	require.NoError(t, bad.ReleaseChecked(func() error { return lost }))
	require.NoError(t, none.View(ctx, func([]uint32) error { return nil }), "none of the lost elements")
	require.ErrorIs(t, b.View(ctx, func([]uint32) error { return nil }), lost)
	require.NoError(t, b.Reset())

	empty, err := buffer.New[uint32](0)
	require.NoError(t, err)
	l, err := empty.Acquire(ctx, s, coherence.Overwrite)
	require.NoError(t, err)
	require.ErrorAs(t, empty.Close(), &conflict)
	require.NoError(t, l.Release())
	for range 2 { // the replicas come back
		require.NoError(t, empty.SyncTo(ctx, d))
		require.NoError(t, empty.Evict(ctx, d))
		require.False(t, empty.State().Places[1].Allocated)
	}
	require.NoError(t, empty.View(ctx, func([]uint32) error { return nil }))
	require.NoError(t, empty.Close())
	require.ErrorIs(t, empty.View(ctx, func([]uint32) error { return nil }), hal.ErrClosed)
	_, err = empty.TryAcquire(s, coherence.Read)
	require.ErrorIs(t, err, hal.ErrClosed)
}

// Elements of 16 bytes are filled in steps. Without an element there is no first step, which would write beyond the slice.
func TestFillOnNoElements(t *testing.T) {
	for _, d := range openMany(t, "one", 1, 0, 1) {
		s := newStream(t, d)
		b, err := buffer.New[complex128](2)
		require.NoError(t, err)
		require.NoError(t, b.FillOn(ctx, s, 1))
		for i := range 3 {
			none, err := b.Slice(i, i)
			require.NoError(t, err)
			require.NoError(t, none.FillOn(ctx, s, 9))
		}
		require.Equal(t, []complex128{1, 1}, contents(t, b))
		require.NoError(t, b.Close())
		none := newBuffer(t, []complex128{})
		require.NoError(t, none.FillOn(ctx, s, 9))
	}
}
