package dlpack_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/array"
	"github.com/go-halyard/halyard/buffer/dlpack"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/testing/fixture"
)

// ending is a context that ends when somebody waits for its end.
type ending struct {
	context.Context
	ended atomic.Bool
}

func (c *ending) Done() <-chan struct{} {
	c.ended.Store(true)
	done := make(chan struct{})
	close(done)
	return done
}

func (c *ending) Err() error {
	if c.ended.Load() {
		return context.Canceled
	}
	return nil
}

// Whichever step of an export fails, nothing is lent and no element has changed.
func TestFailedExportChangesNothing(t *testing.T) {
	for _, mode := range []coherence.Mode{coherence.Read, coherence.ReadWrite, coherence.Overwrite} {
		for name, row := range map[string]struct {
			backend string
			kind    error
		}{
			"the wait for earlier work": {"host", context.Canceled},
			"naming the memory":         {"unknown to DLPack", hal.ErrUnsupported},
		} {
			t.Run(mode.String()+", "+name, func(t *testing.T) {
				d := fixture.Device(t, host.New(host.Options{Name: row.backend, Discrete: 1}), 1)
				s := newStream(t, d)
				b, err := buffer.From([]int32{1, 2, 3, 4})
				require.NoError(t, err)
				defer func() { require.NoError(t, b.Close()) }()
				gate := fixture.Gate(t, s)
				lease, err := b.TryAcquire(s, coherence.Read)
				require.NoError(t, err)
				require.NoError(t, lease.Release())
				before := b.State()

				_, err = dlpack.Export(&ending{Context: ctx}, b, dlpack.WithDevice(d), dlpack.WithMode(mode))
				require.ErrorIs(t, err, row.kind)
				require.Zero(t, dlpack.Outstanding())
				require.Equal(t, before, b.State())
				require.NoError(t, gate.Signal())
				require.NoError(t, b.View(ctx, func(got []int32) error { require.Equal(t, []int32{1, 2, 3, 4}, got); return nil }))
			})
		}
	}
}

// If an observer panics, an export lends nothing and leaves no copy behind, and the end of a loan ends all of it.
func TestObserverThatPanics(t *testing.T) {
	d := fixture.Device(t, host.New(host.Options{Name: "host", Discrete: 1}), 1)
	b, err := buffer.From([]int32{1, 2, 3, 4})
	require.NoError(t, err)
	a, err := array.FromBuffer(b, 2, 2)
	require.NoError(t, err)
	done := 0
	opts := []dlpack.ExportOption{dlpack.WithDevice(d), dlpack.WithDone(func(error) { done++ })}
	copied := append([]dlpack.ExportOption{dlpack.WithCopy(true)}, opts...)
	for _, export := range []func(){
		func() { _, _ = dlpack.Export(ctx, b, opts...) },
		func() { _, _ = dlpack.Export(ctx, b, copied...) },
		func() { _, _ = dlpack.ExportArray(ctx, a, copied...) },
	} {
		stop := buffer.Observe(func(e buffer.Activity) {
			if e.Cause == "ReserveAll" {
				panic("the observer's own fault")
			}
		})
		require.Panics(t, export)
		stop()
		require.Zero(t, dlpack.Outstanding())
		require.NoError(t, b.Evict(ctx, d))
		require.Zero(t, d.Usage().Held, "of the copy")
	}
	require.Zero(t, done)

	stop := buffer.Observe(func(e buffer.Activity) {
		if e.Kind == buffer.ActivityUse {
			panic("the observer's own fault")
		}
	})
	m, err := dlpack.Export(ctx, b, opts...)
	require.NoError(t, err)
	require.Panics(t, func() { _ = m.Delete() })
	stop()
	require.Equal(t, 1, done)
	require.NoError(t, b.Close())
}
