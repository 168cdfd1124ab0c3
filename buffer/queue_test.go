package buffer_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// queued runs fn on another goroutine, and returns when it is one of the n accesses of the buffer that wait.
func queued(t *testing.T, b *buffer.Buffer[uint32], n int, fn func() error) <-chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- fn() }()
	require.Eventually(t, func() bool { return buffer.Waiting(b) == n }, patience, tick)
	return done
}

// taken gives a lease back at once.
func taken(l buffer.Lease, err error) error {
	if err != nil {
		return err
	}
	return l.Release()
}

func TestReadersDoNotPassAWriterThatWaits(t *testing.T) {
	s := newStream(t, openMany(t, "one", 1, 1)[0])
	src := newBuffer(t, make([]uint32, 8))
	for name, write := range map[string]func(context.Context, *buffer.Buffer[uint32]) error{
		"Update":    func(c context.Context, b *buffer.Buffer[uint32]) error { return b.Update(c, nothing) },
		"Overwrite": func(c context.Context, b *buffer.Buffer[uint32]) error { return b.Overwrite(c, nothing) },
		"Set":       func(c context.Context, b *buffer.Buffer[uint32]) error { return b.Set(c, 3, 1) },
		"CopyFrom":  func(c context.Context, b *buffer.Buffer[uint32]) error { return b.CopyFrom(c, src) },
		"Acquire": func(c context.Context, b *buffer.Buffer[uint32]) error {
			return taken(b.Acquire(c, s, coherence.ReadWrite))
		},
		"AcquireRanges": func(c context.Context, b *buffer.Buffer[uint32]) error {
			return taken(b.AcquireRanges(c, s, coherence.ReadWrite, []buffer.Range{{Lo: 0, Hi: 1}, {Lo: 3, Hi: 5}}))
		},
		"AcquireAll": func(c context.Context, b *buffer.Buffer[uint32]) error {
			l, err := buffer.AcquireAll(c, s, src.Want(coherence.Read), b.Want(coherence.ReadWrite))
			if err == nil {
				err = l.Release()
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBuffer(t, make([]uint32, 8))
			part := cut(t, b, 3, 5)
			l, err := b.TryAcquire(s, coherence.Read)
			require.NoError(t, err)
			before, seen := b.State().Version, int64(-1)
			stop, cancel := context.WithCancel(ctx)
			defer cancel()
			writer := queued(t, b, 1, func() error { return write(ctx, b) })

			// Whoever comes now is behind the writer, where it writes.
			_, err = part.TryAcquire(s, coherence.Read)
			var conflict *buffer.ConflictError
			require.ErrorAs(t, err, &conflict)
			require.NotEqual(t, "Read", conflict.Holder.Action, "the writer, not the reader whom it waits for")
			require.ErrorIs(t, part.Prefetch(s), coherence.ErrConflict)
			gaveUp := queued(t, b, 2, func() error { return part.View(stop, nothing) })
			views := queued(t, b, 3, func() error {
				return part.View(ctx, func([]uint32) error { seen = b.State().Version; return nil })
			})
			cancel()
			err = <-gaveUp
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, err, hal.ErrNotReady)
			require.ErrorAs(t, err, &conflict)
			require.NoError(t, l.Release())
			require.NoError(t, <-writer)
			require.NoError(t, <-views)
			require.Equal(t, before+1, seen, "the reader comes after the writer")
		})
	}
}

// What nobody who waits wants is free.
func TestAWriterThatWaitsHoldsUpNobodyElse(t *testing.T) {
	s := newStream(t, openMany(t, "one", 1, 1)[0])
	b := newBuffer(t, make([]uint32, 8))
	left, right := cut(t, b, 0, 4), cut(t, b, 4, 8)
	l, err := left.TryAcquire(s, coherence.Read)
	require.NoError(t, err)
	writer := queued(t, b, 1, func() error { return left.Fill(ctx, 1) })
	require.NoError(t, right.Fill(ctx, 2))
	require.NoError(t, right.View(ctx, nothing))
	require.NoError(t, taken(right.TryAcquire(s, coherence.ReadWrite)))
	require.NoError(t, l.Release())
	require.NoError(t, <-writer)
	require.Equal(t, []uint32{1, 1, 1, 1, 2, 2, 2, 2}, contents(t, b))
}

func TestFirstComeFirstServed(t *testing.T) {
	s := newStream(t, openMany(t, "one", 1, 1)[0])
	b := newBuffer(t, make([]uint32, 8))
	l, err := b.TryAcquire(s, coherence.ReadWrite)
	require.NoError(t, err)
	var mu sync.Mutex
	var served string
	serve := func(who string) {
		mu.Lock()
		defer mu.Unlock()
		served += who
	}
	var together sync.WaitGroup
	together.Add(2)
	read := func([]uint32) error {
		together.Done()
		together.Wait() // both readers are at it
		serve("r")
		return nil
	}
	waits := []<-chan error{
		queued(t, b, 1, func() error { return b.Update(ctx, func([]uint32) error { serve("a"); return nil }) }),
		queued(t, b, 2, func() error { return b.View(ctx, read) }),
		queued(t, b, 3, func() error { return b.View(ctx, read) }),
		queued(t, b, 4, func() error {
			l, err := b.Acquire(ctx, s, coherence.Overwrite)
			serve("b")
			return errors.Join(err, l.Release())
		}),
		queued(t, b, 5, func() error { return b.View(ctx, func([]uint32) error { serve("c"); return nil }) }),
		queued(t, b, 6, func() error { return b.Update(ctx, func([]uint32) error { serve("d"); return nil }) }),
	}
	require.NoError(t, l.Release())
	for _, w := range waits {
		require.NoError(t, <-w)
	}
	require.Equal(t, "arrbcd", served)
}

func TestAWaitThatIsGivenUpLetsOthersGo(t *testing.T) {
	s := newStream(t, openMany(t, "one", 1, 1)[0])
	b := newBuffer(t, make([]uint32, 8))
	l, err := b.TryAcquire(s, coherence.Read)
	require.NoError(t, err)
	stop, cancel := context.WithCancel(ctx)
	writer := queued(t, b, 1, func() error { return b.Update(stop, nothing) })
	reader := queued(t, b, 2, func() error { return b.View(ctx, nothing) })
	second := queued(t, b, 3, func() error { return taken(b.Acquire(ctx, s, coherence.Read)) })
	cancel()
	require.ErrorIs(t, <-writer, context.Canceled)
	require.NoError(t, <-reader, "under the lease that the writer waited for")
	require.NoError(t, <-second)
	require.NoError(t, l.Release())
	require.NoError(t, b.Update(ctx, nothing))
	require.Zero(t, buffer.Waiting(b))
}

func TestTenThousandGoroutinesOnOneBuffer(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s := newStream(t, d)
	b := newBuffer(t, make([]uint32, 16))
	add := func(x []uint32) error { x[0]++; return nil }
	errs := make(chan error, many)
	for i := range many {
		part := b
		if i%3 == 0 {
			part = cut(t, b, i%16, i%16+1)
		}
		go func() {
			switch i % 5 {
			case 0, 1:
				errs <- part.View(ctx, nothing)
			case 2:
				errs <- b.Update(ctx, add)
			case 3:
				errs <- taken(part.Acquire(ctx, s, coherence.Read))
			default:
				errs <- taken(part.Acquire(ctx, s, coherence.ReadWrite))
			}
		}()
	}
	for range many {
		require.NoError(t, <-errs)
	}
	require.Equal(t, uint32(many/5), contents(t, b)[0])
	require.Zero(t, buffer.Waiting(b))
}
