package hal_test

import (
	"bytes"
	"context"
	"runtime/pprof"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// Somebody is inside Event.Done while the event is recorded anew and the last other backend's wait ends.
func TestEventReplacedUnderQuery(t *testing.T) {
	ctx := context.Background()
	eb := &hooked.Backend{Backend: host.New(host.Options{Name: "ev"})}
	inside, leave := make(chan *hooked.Event, 1), make(chan struct{})
	var armed atomic.Bool
	var late atomic.Int32
	eb.NewEvent = func(d *hooked.Device, o driver.EventOptions) (*hooked.Event, error) {
		x, err := d.PlainNewEvent(o)
		x.Data = new(atomic.Bool) // closed
		return x, err
	}
	eb.QueryEvent = func(x *hooked.Event) (bool, error) {
		if armed.CompareAndSwap(true, false) {
			inside <- x
			<-leave
		}
		if x.Data.(*atomic.Bool).Load() {
			late.Add(1)
		}
		return x.Event.Query()
	}
	eb.CloseEvent = func(x *hooked.Event) error {
		x.Data.(*atomic.Bool).Store(true)
		return x.Event.Close()
	}
	d, err := hal.OpenWith(ctx, eb, 0)
	require.NoError(t, err)
	o, err := hal.OpenWith(ctx, host.New(host.Options{Name: "other"}), 0)
	require.NoError(t, err)
	s, err := d.NewStream()
	require.NoError(t, err)
	w, err := o.NewStream()
	require.NoError(t, err)
	g, err := s.Gate()
	require.NoError(t, err)
	e, err := s.Record()
	require.NoError(t, err)
	require.NoError(t, w.WaitEvent(e)) // across backends: w is held shut until the vendor's event fires
	armed.Store(true)
	done := make(chan error, 1)
	go func() { _, err := e.Done(); done <- err }()
	x := <-inside
	require.NoError(t, e.Close())
	require.NoError(t, g.Signal())
	require.NoError(t, w.Sync(ctx))     // the wait has ended
	require.Eventually(t, func() bool { // the goroutine that waited for w has ended, too
		var stacks bytes.Buffer
		require.NoError(t, pprof.Lookup("goroutine").WriteTo(&stacks, 2))
		return !bytes.Contains(stacks.Bytes(), []byte("(*watch).block"))
	}, 10*time.Second, time.Millisecond)
	require.False(t, x.Data.(*atomic.Bool).Load(), "closed while it is asked")
	close(leave)
	if err := <-done; err != nil { // what asked first was the wait of the other backend, and Close came before Done
		require.ErrorIs(t, err, hal.ErrClosed)
	}
	require.NoError(t, w.Sync(ctx))
	require.NoError(t, s.Close())
	require.NoError(t, w.Close())
	require.NoError(t, d.Close())
	require.NoError(t, o.Close())
	require.Zero(t, late.Load(), "used after Close")
}

// A copy that is refused orders nothing.
func TestRefusedCopyAcrossOrders(t *testing.T) {
	d := openNamed(t, "one", 0, 0)
	a, err := d.NewStream()
	require.NoError(t, err)
	defer a.Close()
	b, err := d.NewStream()
	require.NoError(t, err)
	defer b.Close()
	m, err := d.Alloc(hal.KindDevice, 64, 0)
	require.NoError(t, err)
	defer m.Close()
	g, err := b.Gate()
	require.NoError(t, err)
	defer g.Signal()
	require.ErrorIs(t, hal.CopyPeer(a, m.Region(0, 128), b, m.Region(0, 128)), hal.ErrOutOfRange)
	idle, err := a.Done()
	require.NoError(t, err)
	require.True(t, idle, "a refused copy made the stream wait for the other")
}
