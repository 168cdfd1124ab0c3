package buffer_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/parts"
)

// launch takes leases on buffers as a launch does.
func launch(ctx context.Context, s *hal.Stream, buffers ...*buffer.Buffer[uint32]) (buffer.Leases, error) {
	wants := make([]buffer.Want, len(buffers))
	for i, b := range buffers {
		wants[i] = b.Want(coherence.ReadWrite).For("launch")
	}
	return buffer.ReserveAll(ctx, s, wants...)
}

// Launches of many goroutines whose buffers do not fit into the budget together wait for each other.
func TestLaunchesWaitForMemory(t *testing.T) {
	d := openMany(t, "launches", 1, 1)[0]
	buffer.SetBudget(d, 8)
	t.Cleanup(func() { buffer.SetBudget(d, 0) })
	shared := newBuffer(t, []uint32{0})
	var all sync.WaitGroup
	for range 6 {
		s, a, b := newStream(t, d), newBuffer(t, []uint32{1}), newBuffer(t, []uint32{2})
		all.Go(func() {
			for i := range 200 {
				other := []*buffer.Buffer[uint32]{a, b, shared}[i%3]
				l, err := launch(ctx, s, a, other)
				if assert.NoError(t, err) {
					assert.NoError(t, l.Commit())
					assert.NoError(t, l.Release())
				}
				assert.NoError(t, b.FillOn(ctx, s, 7))
			}
		})
	}
	all.Wait()
}

// Accesses get memory in the order of arrival, also one whose buffer has memory already; a context ends the wait.
func TestLineForMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := openMany(t, "line", 1, 1)[0]
		buffer.SetBudget(d, 8)
		s := newStream(t, d)
		held, big := newBuffer(t, []uint32{1}), newBuffer(t, []uint32{1, 2})
		warm := newBuffer(t, []uint32{3})
		require.NoError(t, warm.SyncTo(ctx, d))
		l, err := launch(ctx, s, held)
		require.NoError(t, err)
		ended, cancel := context.WithCancelCause(ctx)
		why := errors.New("enough")
		var order []string
		var all sync.WaitGroup
		arrive := func(name string, ctx context.Context, b *buffer.Buffer[uint32], want error) {
			all.Go(func() {
				l, err := b.Acquire(ctx, newStream(t, d), coherence.Read)
				order = append(order, name)
				if want != nil {
					assert.ErrorIs(t, err, want)
					assert.ErrorIs(t, err, hal.ErrNotReady)
					assert.ErrorIs(t, err, hal.ErrOutOfMemory)
				} else if assert.NoError(t, err) {
					assert.NoError(t, l.Release())
				}
			})
			synctest.Wait()
		}
		arrive("big", ctx, big, nil)
		arrive("ended", ended, newBuffer(t, []uint32{4}), why)
		arrive("warm", ctx, warm, nil)
		require.Empty(t, order)
		_, err = newBuffer(t, []uint32{1, 2}).TryAcquire(s, coherence.Read)
		require.ErrorIs(t, err, hal.ErrOutOfMemory, "TryAcquire does not wait")
		cancel(why)
		synctest.Wait()
		require.Equal(t, []string{"ended"}, order)
		require.NoError(t, l.Release())
		all.Wait()
		require.Equal(t, []string{"ended", "big", "warm"}, order)
	})
}

// A lease that the program holds may be that of the goroutine that needs memory, so nothing waits for it.
func TestNoWaitForLeasesOfTheProgram(t *testing.T) {
	d := openMany(t, "program", 1, 1)[0]
	buffer.SetBudget(d, 4)
	t.Cleanup(func() { buffer.SetBudget(d, 0) })
	s := newStream(t, d)
	a, b := newBuffer(t, []uint32{1}), newBuffer(t, []uint32{2})
	l, err := a.Acquire(ctx, s, coherence.Read)
	require.NoError(t, err)
	_, err = b.Acquire(ctx, s, coherence.Read)
	require.ErrorIs(t, err, hal.ErrOutOfMemory)
	_, err = launch(ctx, s, b)
	require.ErrorIs(t, err, hal.ErrOutOfMemory)
	require.NoError(t, l.Release())
	_, err = launch(ctx, s, a, b)
	require.ErrorIs(t, err, hal.ErrOutOfMemory, "its own leases")
}

// Launches on several devices have leases on one while they wait for memory of another. Two that need each other's memory do not wait for
// ever: the newer one fails, and the other goes on.
func TestCallsThatNeedEachOthersMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		devs := openMany(t, "each other", 2, 1, 2)
		for _, d := range devs {
			buffer.SetBudget(d, 16) // for all of one call, and the small buffer of the other
		}
		part := func(cover buffer.Leases, s *hal.Stream) (buffer.Leases, error) {
			return buffer.ReserveAll(ctx, s, parts.Of(cover, 0, 0, 1, coherence.Read), parts.Of(cover, 1, 0, 2, coherence.Read))
		}
		errs := map[string]error{}
		var all sync.WaitGroup
		starts := map[string]chan struct{}{"older": make(chan struct{}), "newer": make(chan struct{})}
		call := func(name string, first, second *hal.Device) {
			a, b := newBuffer(t, []uint32{1}), newBuffer(t, []uint32{1, 2})
			cover, err := parts.Cover(ctx, []buffer.Want{a.Want(coherence.Read).For("launch"), b.Want(coherence.Read).For("launch")})
			require.NoError(t, err)
			s, other := newStream(t, first), newStream(t, second)
			all.Go(func() {
				l, err := part(cover, s)
				assert.NoError(t, err)
				<-starts[name]
				m, err := part(cover, other)
				if errs[name] = err; err == nil {
					assert.NoError(t, m.Release())
				}
				assert.NoError(t, l.Release())
				assert.NoError(t, cover.Release())
			})
			synctest.Wait()
		}
		call("older", devs[0], devs[1])
		call("newer", devs[1], devs[0])
		close(starts["older"])
		synctest.Wait()
		require.Empty(t, errs, "the newer call does not wait yet")
		close(starts["newer"])
		all.Wait()
		require.NoError(t, errs["older"])
		require.ErrorIs(t, errs["newer"], hal.ErrOutOfMemory)
		require.Len(t, errs, 2)
		for _, d := range devs {
			buffer.SetBudget(d, 0)
		}
	})
}

// A call that an observer's panic ends leaves the line.
func TestPanicInLine(t *testing.T) {
	d := openMany(t, "panics", 1, 1)[0]
	buffer.SetBudget(d, 4)
	t.Cleanup(func() { buffer.SetBudget(d, 0) })
	s := newStream(t, d)
	a, b := newBuffer(t, []uint32{1}), newBuffer(t, []uint32{2})
	for _, take := range []func(b *buffer.Buffer[uint32]){
		func(b *buffer.Buffer[uint32]) { _, _ = launch(ctx, s, b) },
		func(b *buffer.Buffer[uint32]) { _ = b.FillOn(ctx, s, 3) },
	} {
		require.NoError(t, a.SyncTo(ctx, d))
		stop := buffer.Observe(func(e buffer.Activity) {
			if e.Kind == buffer.ActivityAlloc && e.ToDevice != nil {
				panic(e.Kind)
			}
		})
		require.Panics(t, func() { take(b) })
		stop()
		require.NoError(t, a.SyncTo(ctx, d), "nobody is before it")
	}
}
