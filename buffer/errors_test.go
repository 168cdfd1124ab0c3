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
		text := err.Error()
		for _, once := range []string{op + ": ", "not ready", reason.Error(), "excluded by ReadWrite of [0, 4) at one:1"} {
			require.Equal(t, 1, strings.Count(text, once), "%q in %s", once, text)
		}
		require.NotContains(t, text, "\n", op)
	}
	require.NoError(t, l.Release())
}
