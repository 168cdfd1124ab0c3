package buffer_test

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/fixture"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// soonOver is a context that ends when it has been asked a number of times: an access begins, and finds the context ended at its first wait.
type soonOver struct {
	context.Context
	asked atomic.Int32
}

func askedTimes(n int32) *soonOver {
	over, cancel := context.WithCancel(ctx)
	cancel()
	c := &soonOver{Context: over}
	c.asked.Store(n)
	return c
}

func (c *soonOver) Err() error {
	if c.asked.Add(-1) >= 0 {
		return nil
	}
	return c.Context.Err()
}

// What waits for a stream that is held up, and gives up, leaves nothing.
func TestWaitsThatAreGivenUpLeaveNothing(t *testing.T) {
	h := &hooked.Backend{Backend: host.New(host.Options{Name: "counting", Discrete: 2})}
	var made atomic.Int64
	h.Call = countMade(&made)
	d := fixture.Device(t, h, 1)
	s := newStream(t, d)
	b := newBuffer(t, make([]uint32, 8))
	low := cut(t, b, 0, 4)
	g := hold(t, s)
	fill(t, s, b, 3)
	waits := map[string]func(c context.Context) error{
		"View":   func(c context.Context) error { return b.View(c, nothing) },
		"Update": func(c context.Context) error { return low.Update(c, nothing) },
		"SyncTo": func(c context.Context) error { return b.SyncTo(c, nil) },
		"device": func(c context.Context) error { return b.SyncTo(c, d) },
	}
	var before, events, works int
	for i := range many {
		for name, wait := range waits {
			err := wait(askedTimes(1))
			require.ErrorIs(t, err, context.Canceled, name)
			require.ErrorIs(t, err, hal.ErrNotReady, name)
		}
		if i == 10 {
			before, events, works = runtime.NumGoroutine(), int(made.Load()), buffer.Works(b)
		}
	}
	fixture.Goroutines(t, before+5)
	require.LessOrEqual(t, int(made.Load()), events+5)
	require.LessOrEqual(t, buffer.Works(b), works)
	require.Zero(t, buffer.Waiting(b))
	require.NoError(t, g.Signal())
	require.Equal(t, []uint32{3, 3, 3, 3, 3, 3, 3, 3}, contents(t, b))
}

func TestNoRoomWhereAllIsLeasedIsSaidAtOnce(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s := newStream(t, d)
	buffer.SetBudget(d, 4*many)
	for i := range many {
		b := newBuffer(t, []uint32{uint32(i)})
		l, err := b.TryAcquire(s, coherence.Read)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, l.Release()) })
	}
	x := newBuffer(t, []uint32{1})
	before := buffer.ResidencySteps(d)
	for range 10 {
		_, err := x.Acquire(ctx, s, coherence.Read)
		require.ErrorIs(t, err, hal.ErrOutOfMemory)
		require.ErrorContains(t, err, fmt.Sprintf("%d replicas that cannot be evicted now have %d bytes", many, 4*many))
	}
	require.LessOrEqual(t, buffer.ResidencySteps(d)-before, 2*many, "each is looked at once, in all")
	// The context is looked at between one and the next.
	for asked := range int32(4) {
		_, err := x.Acquire(askedTimes(asked), s, coherence.Read)
		require.Error(t, err)
		if asked <= 1 {
			require.ErrorIs(t, err, context.Canceled)
		}
	}
	require.Equal(t, "HOST_ONLY", x.State().Name)
}

func TestDeadlineWhileWriteBacksAreHeldUp(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s, other := newStream(t, d), newStream(t, d)
	buffer.SetBudget(d, 32)
	g := hold(t, s)
	x, y := written(t, s, 4, 1), written(t, s, 4, 2)
	z := newBuffer(t, []uint32{3, 3, 3, 3})
	_, err := z.Acquire(untilCopied(t), other, coherence.Read)
	require.ErrorIs(t, err, context.Canceled, "as soon as the copy is enqueued that makes room")
	require.ErrorIs(t, err, hal.ErrNotReady)
	require.ErrorContains(t, err, "16 bytes are not free until the copies of evicted replicas have ended")
	require.Equal(t, "HOST_ONLY", z.State().Name)
	// The next finds it under way.
	_, err = z.Acquire(askedTimes(2), other, coherence.Read)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "16 bytes are not free until the copies of evicted replicas have ended")
	require.NotContains(t, err.Error(), "\n")
	require.Equal(t, 1, buffer.ResidencyOf(d).Replicas, "no more was evicted than is needed")
	require.NoError(t, g.Signal())
	require.NoError(t, taken(z.Acquire(ctx, other, coherence.Read)))
	require.Equal(t, []uint32{1, 1, 1, 1}, contents(t, x))
	require.Equal(t, []uint32{2, 2, 2, 2}, contents(t, y))
}
