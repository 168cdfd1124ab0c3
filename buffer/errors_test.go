package buffer_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// A wait that was given up says once, in one line, what it waited for and why it ended.
func TestWaitsThatAreGivenUpSaySoOnce(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s := newStream(t, d)
	b := newBuffer(t, make([]uint32, 4))
	l, err := b.TryAcquire(s, coherence.ReadWrite)
	require.NoError(t, err)
	reason := errors.New("the request was withdrawn")
	over, cancel := context.WithCancelCause(ctx)
	cancel(reason)
	soon := func() context.Context {
		c := &soonOver{Context: over}
		c.asked.Store(2)
		return c
	}
	for op, wait := range map[string]func() error{
		"View":       func() error { return b.View(soon(), nothing) },
		"Overwrite":  func() error { return b.Overwrite(soon(), nothing) },
		"CopyFrom":   func() error { return b.CopyFrom(soon(), newBuffer(t, make([]uint32, 4))) },
		"Acquire":    func() error { _, err := b.Acquire(soon(), s, coherence.Read); return err },
		"AcquireAll": func() error { _, err := buffer.AcquireAll(soon(), s, b.Want(coherence.Read)); return err },
		"Evict":      func() error { return b.Evict(soon(), d) },
	} {
		err := wait()
		require.ErrorIs(t, err, hal.ErrNotReady, op)
		require.ErrorIs(t, err, reason, op)
		require.ErrorIs(t, err, coherence.ErrConflict, op)
		var c *buffer.ConflictError
		require.ErrorAs(t, err, &c, op)
		require.Contains(t, c.Requested.Site, "errors_test.go:", op)
		require.Contains(t, c.Holder.Site, "errors_test.go:", op)
		text := err.Error()
		for _, once := range []string{op + ": ", "not ready", reason.Error(), "has to wait for ReadWrite of [0, 4) at one:1"} {
			require.Equal(t, 1, strings.Count(text, once), "%q in %s", once, text)
		}
		require.NotContains(t, text, "\n", op)
	}
	require.NoError(t, l.Release())
}

// Each conflict says where both accesses were made, from however deep in the package it comes, and errors.As finds a hal.Error in it.
func TestConflictsNameBothLines(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s := newStream(t, d)
	b := newBuffer(t, make([]uint32, 4))
	require.NoError(t, b.Prefetch(s))
	tries := map[string]func() error{
		"TryAcquire":       func() error { _, err := b.TryAcquire(s, coherence.Read); return err },
		"Prefetch":         func() error { return b.Prefetch(s) },
		"MarkModified":     func() error { return b.MarkModified(s) },
		"MarkHostModified": b.MarkHostModified,
		"Reset":            b.Reset,
		"Close":            b.Close,
	}
	hold := func() (release func() error) {
		l, err := b.AcquireHost(ctx, coherence.ReadWrite)
		require.NoError(t, err)
		return l.Release
	}
	release := hold()
	for op, try := range tries {
		err := try()
		var c *buffer.ConflictError
		require.ErrorAs(t, err, &c, op)
		require.Contains(t, c.Requested.Site, "errors_test.go:", op)
		require.Contains(t, c.Holder.Site, "errors_test.go:", op)
		require.Equal(t, 1, strings.Count(err.Error(), op), err)
		var e *hal.Error
		require.ErrorAs(t, err, &e, op)
		require.Equal(t, op, e.Op)
		require.Equal(t, hal.ErrBusy, e.Kind)
	}
	require.NoError(t, release())
	require.NoError(t, b.Overwrite(ctx, nothing))
	var c *buffer.ConflictError
	require.ErrorAs(t, b.MarkModified(s), &c)
	require.Contains(t, c.Requested.Site, "errors_test.go:")
}

// However MarkModified conflicts, errors.As finds the same type. Only where somebody else is in the way may the same call succeed later.
func TestMarkModifiedConflictsWithOneType(t *testing.T) {
	s := newStream(t, openMany(t, "one", 1, 1)[0])
	for name, c := range map[string]struct {
		prepare func(t *testing.T, b *buffer.Buffer[uint32])
		text    string
		busy    bool
	}{
		"no replica": {func(*testing.T, *buffer.Buffer[uint32]) {},
			"MarkModified of [0, 4) at one:1", false},
		"stale": {func(t *testing.T, b *buffer.Buffer[uint32]) {
			require.NoError(t, b.Prefetch(s))
			require.NoError(t, b.Overwrite(ctx, func([]uint32) error { return nil }))
		}, "elements [0, 4) are not current there: they are current at host", false},
		"stale in part": {func(t *testing.T, b *buffer.Buffer[uint32]) {
			require.NoError(t, b.Prefetch(s))
			require.NoError(t, b.Set(ctx, 2, 1))
		}, "elements [2, 3) are not current there: they are current at host", false},
		"reset": {func(t *testing.T, b *buffer.Buffer[uint32]) {
			require.NoError(t, b.Prefetch(s))
			require.NoError(t, b.Reset())
		}, "they were never written, or reset", false},
		"in use": {func(t *testing.T, b *buffer.Buffer[uint32]) {
			l, err := b.TryAcquire(s, coherence.Read)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, l.Release()) })
		}, "has to wait for Read of [0, 4) at one:1", true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBuffer(t, make([]uint32, 4))
			c.prepare(t, b)
			before := b.State()
			err := b.MarkModified(s)
			var conflict *buffer.ConflictError
			require.ErrorAs(t, err, &conflict)
			require.ErrorIs(t, err, coherence.ErrConflict)
			require.Equal(t, c.busy, errors.Is(err, hal.ErrBusy))
			require.Equal(t, c.busy, conflict.Holder != buffer.Access{})
			require.Equal(t, "MarkModified", conflict.Requested.Action)
			require.ErrorContains(t, err, c.text)
			require.Equal(t, 1, strings.Count(err.Error(), "MarkModified"))
			require.Equal(t, before, b.State())
		})
	}
}

// broken is a context whose methods panic: all of them, or only those that a wait calls.
type broken struct {
	context.Context
	waits bool
}

func (b broken) Err() error {
	if b.waits {
		return nil
	}
	return b.Context.Err()
}

// A call with a nil context is refused. If the methods of a context panic, the call does so too, and nothing stays locked or open.
func TestContextsThatCannotBeUsed(t *testing.T) {
	d := openMany(t, "one", 1, 1)[0]
	s := newStream(t, d)
	for name, call := range map[string]func(ctx context.Context, b, other *buffer.Buffer[uint32]) error{
		"View":      func(ctx context.Context, b, _ *buffer.Buffer[uint32]) error { return b.View(ctx, nothing) },
		"Update":    func(ctx context.Context, b, _ *buffer.Buffer[uint32]) error { return b.Update(ctx, nothing) },
		"Overwrite": func(ctx context.Context, b, _ *buffer.Buffer[uint32]) error { return b.Overwrite(ctx, nothing) },
		"AccessRanges": func(ctx context.Context, b, _ *buffer.Buffer[uint32]) error {
			return b.AccessRanges(ctx, coherence.Read, []buffer.Range{{Lo: 0, Hi: 2}}, nothing)
		},
		"Acquire": func(ctx context.Context, b, _ *buffer.Buffer[uint32]) error {
			return give(b.Acquire(ctx, s, coherence.ReadWrite))
		},
		"AcquireHost": func(ctx context.Context, b, _ *buffer.Buffer[uint32]) error {
			return give(b.AcquireHost(ctx, coherence.Read))
		},
		"AcquireRanges": func(ctx context.Context, b, _ *buffer.Buffer[uint32]) error {
			return give(b.AcquireRanges(ctx, s, coherence.Read, []buffer.Range{{Lo: 0, Hi: 2}}))
		},
		"AcquireAll": func(ctx context.Context, b, other *buffer.Buffer[uint32]) error {
			return give(buffer.AcquireAll(ctx, s, other.Want(coherence.ReadWrite), b.Want(coherence.ReadWrite)))
		},
		"ReserveAll": func(ctx context.Context, b, _ *buffer.Buffer[uint32]) error {
			return give(buffer.ReserveAll(ctx, s, b.Want(coherence.Read)))
		},
		"At":       func(ctx context.Context, b, _ *buffer.Buffer[uint32]) error { _, err := b.At(ctx, 0); return err },
		"Set":      func(ctx context.Context, b, _ *buffer.Buffer[uint32]) error { return b.Set(ctx, 0, 1) },
		"Fill":     func(ctx context.Context, b, _ *buffer.Buffer[uint32]) error { return b.Fill(ctx, 1) },
		"FillOn":   func(ctx context.Context, b, _ *buffer.Buffer[uint32]) error { return b.FillOn(ctx, s, 1) },
		"CopyFrom": func(ctx context.Context, b, other *buffer.Buffer[uint32]) error { return b.CopyFrom(ctx, other) },
		"CopyIn":   func(ctx context.Context, b, _ *buffer.Buffer[uint32]) error { return b.CopyIn(ctx, make([]uint32, 4)) },
		"CopyOut":  func(ctx context.Context, b, _ *buffer.Buffer[uint32]) error { return b.CopyOut(ctx, make([]uint32, 4)) },
		"Values":   func(ctx context.Context, b, _ *buffer.Buffer[uint32]) error { _, err := b.Values(ctx); return err },
		"Clone":    func(ctx context.Context, b, _ *buffer.Buffer[uint32]) error { return give(b.Clone(ctx)) },
		"SyncTo":   func(ctx context.Context, b, _ *buffer.Buffer[uint32]) error { return b.SyncTo(ctx, d) },
		"Evict":    func(ctx context.Context, b, _ *buffer.Buffer[uint32]) error { return b.Evict(ctx, d) },
	} {
		t.Run(name, func(t *testing.T) {
			b, other := newBuffer(t, make([]uint32, 4)), newBuffer(t, make([]uint32, 4))
			for _, waits := range []bool{false, true} {
				l, err := b.TryAcquire(s, coherence.ReadWrite)
				require.NoError(t, err)
				if !waits {
					require.NoError(t, l.Release())
				}
				require.Panics(t, func() { _ = call(broken{waits: waits}, b, other) })
				if waits {
					require.NoError(t, l.Release())
				}
				require.NoError(t, b.Update(ctx, nothing))
				require.NoError(t, other.Update(ctx, nothing))
			}
			var none context.Context
			err := call(none, b, other)
			require.ErrorIs(t, err, hal.ErrInvalidArgument)
			require.ErrorContains(t, err, "nil context")
			require.NoError(t, b.Update(ctx, nothing))
		})
	}
}

// give closes what a call has returned, if it has.
func give(x any, err error) error {
	if err != nil {
		return err
	}
	if l, ok := x.(interface{ Release() error }); ok {
		return l.Release()
	}
	return x.(interface{ Close() error }).Close()
}
