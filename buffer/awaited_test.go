package buffer_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/awaited"
	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/watch"
)

func fits(*hal.Device) bool { return true }

// acquireAwaited takes a lease where there has to be a device for it.
func acquireAwaited(t *testing.T, b *buffer.Buffer[uint32], mode coherence.Mode) buffer.Lease {
	t.Helper()
	l, ok, err := awaited.Acquire(ctx, b, mode, fits)
	require.NoError(t, err)
	require.True(t, ok)
	return l
}

// at are the elements of a lease, which the host can touch on the host backend's devices.
func at(l buffer.Lease) []uint32 {
	return unsafe.Slice((*uint32)(dl.Pointer(l.Pointer())), l.Region().Len/4)
}

// An awaited lease is on a device that has the elements, and its elements are ready when the call returns.
func TestAwaitedLease(t *testing.T) {
	d := openMany(t, "host", 1, 1)[0]
	s := newStream(t, d)
	b, err := buffer.From([]uint32{1, 2, 3, 4})
	require.NoError(t, err)
	part, err := b.Slice(1, 3)
	require.NoError(t, err)
	_, ok, err := awaited.Acquire(ctx, b, coherence.Read, fits)
	require.NoError(t, err)
	require.False(t, ok, "the host alone has the elements")

	g, err := s.Gate()
	require.NoError(t, err)
	l, err := b.Acquire(ctx, s, coherence.ReadWrite)
	require.NoError(t, err)
	require.NoError(t, s.Fill(l.Region(), hal.Pattern32(7)))
	require.NoError(t, l.Release())
	soon := func() context.Context {
		short, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
		t.Cleanup(cancel)
		return short
	}
	for _, mode := range []coherence.Mode{coherence.Read, coherence.ReadWrite, coherence.Overwrite} {
		_, ok, err = awaited.Acquire(soon(), part, mode, fits)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.False(t, ok)
	}
	_, ok, err = awaited.Acquire(ctx, part, coherence.Read, func(*hal.Device) bool { return false })
	require.NoError(t, err)
	require.False(t, ok)
	require.NoError(t, g.Signal())

	before := b.Stats().Copies
	l = acquireAwaited(t, part, coherence.ReadWrite)
	require.Equal(t, []uint32{7, 7}, at(l), "the work has ended")
	require.Equal(t, coherence.ReadWrite, l.Mode())
	require.ErrorIs(t, b.Close(), coherence.ErrConflict)
	_, err = b.TryAcquire(s, coherence.Read)
	require.ErrorIs(t, err, coherence.ErrConflict)
	require.ErrorIs(t, b.Evict(soon(), d), coherence.ErrConflict)
	first, err := b.Slice(0, 1)
	require.NoError(t, err)
	other, err := first.TryAcquire(s, coherence.ReadWrite)
	require.NoError(t, err, "other elements are free")
	require.NoError(t, other.Release())
	at(l)[1] = 70
	require.NoError(t, l.Release())
	require.ErrorIs(t, l.Release(), hal.ErrClosed)
	require.Equal(t, before, b.Stats().Copies)
	require.Equal(t, []uint32{7, 7, 70, 7}, contents(t, b), "what was written is the newest")

	one, two := acquireAwaited(t, b, coherence.Read), acquireAwaited(t, part, coherence.Read)
	require.Equal(t, one.Pointer()+4, two.Pointer())
	require.ErrorIs(t, two.ReleaseChecked(func() error { panic("asked") }), hal.ErrInvalidArgument)
	require.NoError(t, errors.Join(one.Release(), two.Release()))
	_, _, err = awaited.Acquire(ctx, b, coherence.Mode(3), fits)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	require.NoError(t, b.Close())
	_, ok, err = awaited.Acquire(ctx, b, coherence.Read, fits)
	require.NoError(t, err)
	require.False(t, ok, "a closed buffer is nowhere")
	_, _, err = awaited.Acquire[uint32](ctx, nil, coherence.Read, fits)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
}

// What was to be written and was not is lost at once, and earlier failures of what is overwritten are forgotten.
func TestFailedAwaitedLease(t *testing.T) {
	d := openMany(t, "host", 1, 1)[0]
	s := newStream(t, d)
	b, err := buffer.From([]uint32{1, 2, 3, 4})
	require.NoError(t, err)
	require.NoError(t, b.SyncTo(ctx, d))
	part, err := b.Slice(1, 3)
	require.NoError(t, err)
	cause := errors.New("nothing came")
	for _, mode := range []coherence.Mode{coherence.Overwrite, coherence.ReadWrite} {
		l := acquireAwaited(t, part, mode)
		require.NoError(t, l.ReleaseChecked(func() error { return cause }))
		for range 2 {
			err := b.View(ctx, func([]uint32) error { panic("ran") })
			require.ErrorIs(t, err, cause)
			require.ErrorIs(t, err, hal.ErrDeviceLost)
		}
		_, err = part.TryAcquire(s, coherence.Read)
		require.ErrorIs(t, err, cause)
		l, err = part.Acquire(ctx, s, coherence.Overwrite)
		require.NoError(t, err)
		require.NoError(t, s.Fill(l.Region(), hal.Pattern32(9)))
		require.NoError(t, l.Release())
		require.Equal(t, []uint32{1, 9, 9, 4}, contents(t, b))
	}

	l, err := part.Acquire(ctx, s, coherence.Overwrite)
	require.NoError(t, err)
	require.NoError(t, l.ReleaseChecked(func() error { return cause }))
	l = acquireAwaited(t, part, coherence.Overwrite)
	copy(at(l), []uint32{5, 6})
	require.NoError(t, l.ReleaseChecked(func() error { return nil }))
	require.Equal(t, []uint32{1, 5, 6, 4}, contents(t, b))
	require.NoError(t, b.Close())
}

// watcher refuses reads, and notes writes.
type watcher struct {
	refusal error
	wrote   [2]uint64
}

func (w *watcher) Reads(lo, hi uint64) error { return w.refusal }
func (w *watcher) Writes(lo, hi uint64)      { w.wrote = [2]uint64{lo, hi} }

// Who watches a buffer learns of an awaited lease as of any other access.
func TestAwaitedLeaseIsWatched(t *testing.T) {
	d := openMany(t, "host", 1, 1)[0]
	b, err := buffer.From([]uint32{1, 2, 3, 4})
	require.NoError(t, err)
	w := new(watcher)
	watch.Attach(b, w)
	require.NoError(t, b.SyncTo(ctx, d))
	part, err := b.Slice(1, 3)
	require.NoError(t, err)
	w.refusal = errors.New("stale")
	for _, mode := range []coherence.Mode{coherence.Read, coherence.ReadWrite} {
		_, ok, err := awaited.Acquire(ctx, part, mode, fits)
		require.ErrorIs(t, err, w.refusal)
		require.False(t, ok)
	}
	require.Zero(t, w.wrote)
	require.NoError(t, acquireAwaited(t, part, coherence.Overwrite).Release())
	require.Equal(t, [2]uint64{4, 12}, w.wrote)
	require.NoError(t, b.Close())
}

// While the call waits for its turn another access may make the elements newer on the host. Then there is no device for it.
func TestAwaitedLeaseAfterTheHostHasWritten(t *testing.T) {
	d := openMany(t, "host", 1, 1)[0]
	s := newStream(t, d)
	b, err := buffer.From([]uint32{1, 2, 3, 4})
	require.NoError(t, err)
	require.NoError(t, b.SyncTo(ctx, d))
	left, err := b.Slice(0, 2)
	require.NoError(t, err)
	right, err := b.Slice(2, 4)
	require.NoError(t, err)
	// refused waits until an access of the elements waits that excludes others.
	refused := func(part *buffer.Buffer[uint32], mode coherence.Mode) {
		for {
			l, err := part.TryAcquire(s, mode)
			if err != nil {
				require.ErrorIs(t, err, coherence.ErrConflict)
				return
			}
			require.NoError(t, l.Release())
			runtime.Gosched()
		}
	}
	reading, err := left.AcquireHost(ctx, coherence.Read)
	require.NoError(t, err)
	wrote := make(chan error)
	go func() { wrote <- left.Fill(ctx, 8) }()
	refused(left, coherence.Read)
	found := make(chan bool)
	go func() {
		l, ok, err := awaited.Acquire(ctx, b, coherence.Overwrite, fits)
		found <- ok || err != nil
		_ = l.Release()
	}()
	refused(right, coherence.Read)
	require.NoError(t, reading.Release())
	require.NoError(t, <-wrote)
	require.False(t, <-found)
	require.Equal(t, []uint32{8, 8, 3, 4}, contents(t, b))
	require.NoError(t, b.Close())
}
