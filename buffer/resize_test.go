package buffer_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/fixture"
)

func TestResizeKeepsTheElements(t *testing.T) {
	b, err := buffer.From([]int32{1, 2, 3, 4})
	require.NoError(t, err)
	old := b
	b, err = b.Resize(ctx, 6)
	require.NoError(t, err)
	require.Equal(t, []int32{1, 2, 3, 4, 0, 0}, contents(t, b))
	require.ErrorIs(t, old.View(ctx, func([]int32) error { return nil }), hal.ErrClosed)
	require.NoError(t, b.Set(ctx, 5, 9))
	b, err = b.Resize(ctx, 3)
	require.NoError(t, err)
	require.Equal(t, []int32{1, 2, 3}, contents(t, b))
	same, err := b.Resize(ctx, 3)
	require.NoError(t, err)
	require.Same(t, b, same)
	b, err = b.Resize(ctx, 4)
	require.NoError(t, err)
	require.Equal(t, []int32{1, 2, 3, 0}, contents(t, b), "an element that was cut off came back")
	require.NoError(t, b.Close())
}

// Each range is copied where it is current, also one that begins within an element, and nothing between places.
func TestResizeCopiesInPlace(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s := newStream(t, d)
	b, err := buffer.From([]uint32{1, 2, 3, 4})
	require.NoError(t, err)
	raw, err := buffer.Reinterpret[uint8](b)
	require.NoError(t, err)
	part, err := raw.Slice(6, 12)
	require.NoError(t, err)
	require.NoError(t, part.FillOn(ctx, s, 0xff))
	held := d.Usage().Held
	b, err = b.Resize(ctx, 5)
	require.NoError(t, err)
	require.Zero(t, b.Stats().BytesCopied, "nothing is copied between places")
	require.False(t, b.State().Places[0].Valid)
	require.Equal(t, held+4, d.Usage().Held, "the old memory is back")
	require.Equal(t, []uint32{1, 0xffff0002, 0xffffffff, 4, 0}, contents(t, b))
	require.NoError(t, b.Close())
}

func TestResizeRefuses(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s := newStream(t, d)
	b := newBuffer(t, []int32{1, 2, 3})
	part, err := b.Slice(0, 2)
	require.NoError(t, err)
	before := b.State()
	refused := func(b *buffer.Buffer[int32], n int, kind error) {
		t.Helper()
		c, err := b.Resize(ctx, n)
		require.ErrorIs(t, err, kind)
		require.Same(t, b, c)
	}
	refused(part, 1, hal.ErrInvalidArgument)
	refused(nil, 1, hal.ErrInvalidArgument)
	refused(b, -1, hal.ErrInvalidArgument)
	require.NoError(t, b.Freeze())
	refused(b, 4, buffer.ErrFrozen)
	refused(b, 3, buffer.ErrFrozen)
	require.NoError(t, b.Unfreeze())
	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, err = b.Resize(gone, 4)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, before, b.State())
	for _, mode := range []coherence.Mode{coherence.Read, coherence.ReadWrite} {
		l, err := b.TryAcquire(s, mode)
		require.NoError(t, err)
		soon, cancel := context.WithTimeout(ctx, tick)
		_, err = b.Resize(soon, 4)
		cancel()
		var conflict *buffer.ConflictError
		require.ErrorAs(t, err, &conflict)
		require.NoError(t, l.Release())
	}
	require.Equal(t, []int32{1, 2, 3}, contents(t, b))
	require.NoError(t, b.Close())
	refused(b, 4, hal.ErrClosed)
	refused(b, 3, hal.ErrClosed)
}

// A copy that fails when it runs loses nothing: the buffer that has the elements is still open.
func TestResizeWaitsForItsCopies(t *testing.T) {
	f, devs, s := openLinked(t, 1)
	b := written(t, s[0], 4, 7)
	require.NoError(t, s[0].Sync(ctx))
	f.fail("Copy", 1)
	c, err := b.Resize(ctx, 8)
	require.ErrorIs(t, err, errLate)
	require.Same(t, b, c)
	require.Equal(t, []uint32{7, 7, 7, 7}, contents(t, b))
	b, err = b.Resize(ctx, 8)
	require.NoError(t, err)
	require.NoError(t, b.Evict(ctx, devs[0]))
	require.Equal(t, []uint32{7, 7, 7, 7, 0, 0, 0, 0}, contents(t, b))
	require.NoError(t, b.Close())

	// It gives up when its context ends, and nothing has changed.
	b = written(t, s[0], 4, 8)
	g := hold(t, s[0])
	fill(t, s[0], b, 9)
	soon, cancel := context.WithTimeout(ctx, tick)
	defer cancel()
	c, err = b.Resize(soon, 8)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Same(t, b, c)
	require.NoError(t, g.Signal())
	require.Equal(t, []uint32{9, 9, 9, 9}, contents(t, b))
}

// The buffer is closed, and the elements are in the new one, also if the driver fails to free the old memory.
func TestResizeWhereFreeFails(t *testing.T) {
	f := newFaulty(host.Options{Name: "free", Discrete: 1})
	var refused error
	f.Call = func(op string, _ int) error {
		if op == "Free" {
			return refused
		}
		return nil
	}
	d := fixture.Device(t, f, 1)
	b, err := buffer.From([]int32{1, 2, 3})
	require.NoError(t, err)
	require.NoError(t, b.SyncTo(ctx, d))
	refused = hal.Errorf("free", hal.ErrDriver, "refused")
	c, err := b.Resize(ctx, 4)
	refused = nil
	require.ErrorIs(t, err, hal.ErrDriver)
	require.NotSame(t, b, c)
	require.ErrorIs(t, b.View(ctx, func([]int32) error { return nil }), hal.ErrClosed)
	require.Equal(t, []int32{1, 2, 3, 0}, contents(t, c))
	require.NoError(t, c.Close())
}

// An access that waits while the elements are copied is not lost: the buffer stays.
func TestResizeLeavesTheBufferToWhoWaits(t *testing.T) {
	_, _, s := openLinked(t, 1)
	b := written(t, s[0], 4, 7)
	g := hold(t, s[0])
	fill(t, s[0], b, 9)
	resized := make(chan error)
	go func() {
		_, err := b.Resize(ctx, 8)
		resized <- err
	}()
	require.Eventually(t, func() bool { return taken(b.TryAcquire(s[0], coherence.ReadWrite)) != nil }, patience, tick)
	updated := queued(t, b, 1, func() error { return b.Set(ctx, 0, 1) })
	require.NoError(t, g.Signal())
	var conflict *buffer.ConflictError
	require.ErrorAs(t, <-resized, &conflict)
	require.NoError(t, <-updated)
	require.Equal(t, []uint32{1, 9, 9, 9}, contents(t, b))
}

// Nor is a buffer closed that was frozen while its elements were copied.
func TestResizeLeavesAFrozenBuffer(t *testing.T) {
	_, _, s := openLinked(t, 1)
	b := written(t, s[0], 4, 7)
	g := hold(t, s[0])
	fill(t, s[0], b, 9)
	resized := make(chan error)
	go func() {
		_, err := b.Resize(ctx, 2)
		resized <- err
	}()
	require.Eventually(t, func() bool { return taken(b.TryAcquire(s[0], coherence.ReadWrite)) != nil }, patience, tick)
	require.NoError(t, b.Freeze())
	require.NoError(t, g.Signal())
	require.ErrorIs(t, <-resized, buffer.ErrFrozen)
	require.Equal(t, []uint32{9, 9, 9, 9}, contents(t, b))
}

// With the elements at the host and at a device whose memory the host has to map.
func TestResizeMapped(t *testing.T) {
	s := newStream(t, fixture.Device(t, newMapped(), 1))
	b := newBuffer(t, []uint32{1, 2, 3, 4})
	for range 2 {
		fill(t, s, cut(t, b, 1, 3), 9)
		c, err := b.Resize(ctx, b.Len()+1)
		require.NoError(t, err)
		b = c
	}
	require.NoError(t, b.Set(ctx, 0, 5))
	b, err := b.Resize(ctx, 3)
	require.NoError(t, err)
	require.Equal(t, []uint32{5, 9, 9}, contents(t, b))
	require.NoError(t, b.Close())
}
