package buffer_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/fixture"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// A stream is closed while a lease is open, so no event can stand for the work under the lease. What the work wrote is lost if it fails,
// before or after Release.
func TestFailureOfWorkWhoseStreamWasClosed(t *testing.T) {
	d := fixture.Device(t, host.New(host.Options{Name: "shut", Discrete: 1}), 1)
	m, err := d.Load(hal.Image{Format: hal.FormatGo, Functions: map[string]hal.Function{"fail": {Run: func(*hal.Block) { panic("no") }}}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	k, err := m.Kernel("fail")
	require.NoError(t, err)
	for name, alone := range map[string]bool{"a lease": true, "leases": false} {
		for when, ended := range map[string]bool{"before Release": true, "after Release": false} {
			t.Run(name+" "+when, func(t *testing.T) {
				s, err := d.NewStream()
				require.NoError(t, err)
				b := newBuffer(t, []uint32{1, 2, 3})
				acquire := func() (func() error, error) { l, err := b.Acquire(ctx, s, coherence.ReadWrite); return l.Release, err }
				if !alone {
					acquire = func() (func() error, error) {
						l, err := buffer.AcquireAll(ctx, s, b.Want(coherence.ReadWrite))
						return l.Release, err
					}
				}
				release, err := acquire()
				require.NoError(t, err)
				g := hold(t, s)
				require.NoError(t, s.Launch(k, hal.Over(1)))
				require.NoError(t, s.Close())
				if ended {
					require.NoError(t, g.Signal())
					require.NoError(t, d.Reclaim(ctx))
				}
				require.ErrorIs(t, release(), hal.ErrClosed)
				require.NoError(t, g.Signal())
				for range 2 {
					err := b.View(ctx, nothing)
					require.ErrorIs(t, err, hal.ErrDeviceLost)
					require.ErrorIs(t, err, hal.ErrKernel)
				}
				fill(t, newStream(t, d), b, 7)
				require.Equal(t, []uint32{7, 7, 7}, contents(t, b))
			})
		}
	}
}

// The same for a stream that the program shares with a library, which goes on after Close.
func TestFailureOfWorkWhoseImportedStreamWasClosed(t *testing.T) {
	d := fixture.Device(t, host.New(host.Options{Name: "shut", Discrete: 1}), 1)
	m, err := d.Load(hal.Image{Format: hal.FormatGo, Functions: map[string]hal.Function{"fail": {Run: func(*hal.Block) { panic("no") }}}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	k, err := m.Kernel("fail")
	require.NoError(t, err)
	theirs := newStream(t, d)
	s, err := d.ImportStream(theirs.Handle(), nil)
	require.NoError(t, err)
	b := newBuffer(t, []uint32{1, 2, 3})
	l, err := b.Acquire(ctx, s, coherence.ReadWrite)
	require.NoError(t, err)
	g := hold(t, theirs)
	require.NoError(t, s.Launch(k, hal.Over(1)))
	require.NoError(t, s.Close())
	later := hold(t, theirs)
	require.ErrorIs(t, l.Release(), hal.ErrClosed)
	require.NoError(t, g.Signal())
	require.ErrorIs(t, b.View(ctx, nothing), hal.ErrKernel)
	require.NoError(t, later.Signal())
}

// On a device without gates no stream can be made to wait for a stream that is closed. TryAcquire says so, and does not wait itself.
func TestTryAcquireDoesNotWaitForAClosedStream(t *testing.T) {
	b := &hooked.Backend{Backend: host.New(host.Options{Name: "shut", Discrete: 1}), Info: func(i driver.Info) driver.Info {
		i.Caps &^= driver.CapGate
		return i
	}}
	d := fixture.Device(t, b, 1)
	ended := make(chan struct{})
	end := sync.OnceFunc(func() { close(ended) })
	t.Cleanup(end)
	m, err := d.Load(hal.Image{Format: hal.FormatGo, Functions: map[string]hal.Function{"wait": {Run: func(*hal.Block) { <-ended }}}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	k, err := m.Kernel("wait")
	require.NoError(t, err)
	x, s := newBuffer(t, []uint32{1, 2, 3}), newStream(t, d)
	closed, err := d.NewStream()
	require.NoError(t, err)
	l, err := x.Acquire(ctx, closed, coherence.ReadWrite)
	require.NoError(t, err)
	require.NoError(t, closed.Launch(k, hal.Over(1)))
	require.NoError(t, closed.Close())
	require.ErrorIs(t, l.Release(), hal.ErrClosed)

	late := time.AfterFunc(10*time.Second, end) // the test fails instead of hanging
	_, err = x.TryAcquire(s, coherence.Read)
	require.ErrorIs(t, err, hal.ErrNotReady)
	require.True(t, late.Stop())
	short, cancel := context.WithCancel(ctx)
	time.AfterFunc(time.Millisecond, cancel)
	_, err = x.Acquire(short, s, coherence.Read)
	require.ErrorIs(t, err, context.Canceled)
	end()
	l, err = x.Acquire(ctx, s, coherence.Read)
	require.NoError(t, err)
	require.NoError(t, l.Release())
	require.Equal(t, []uint32{1, 2, 3}, contents(t, x))
}
