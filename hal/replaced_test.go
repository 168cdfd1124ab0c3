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
)

type evBackend struct {
	*host.Backend
	query func(e *evEvent)
	late  atomic.Int32
}

func (b *evBackend) Open(ctx context.Context, ordinal int) (driver.Device, error) {
	d, err := b.Backend.Open(ctx, ordinal)
	return &evDevice{d, b}, err
}

type evDevice struct {
	driver.Device
	b *evBackend
}

func (d *evDevice) NewEvent(o driver.EventOptions) (driver.Event, error) {
	e, err := d.Device.NewEvent(o)
	return &evEvent{Event: e, b: d.b}, err
}

func (d *evDevice) NewStream(o driver.StreamOptions) (driver.Stream, error) {
	s, err := d.Device.NewStream(o)
	return &evStream{s, s.(driver.Gater)}, err
}

type evStream struct {
	driver.Stream
	driver.Gater
}

func (s *evStream) Record(e driver.Event) error { return s.Stream.Record(e.(*evEvent).Event) }
func (s *evStream) Wait(e driver.Event) error   { return s.Stream.Wait(e.(*evEvent).Event) }

type evEvent struct {
	driver.Event
	b      *evBackend
	closed atomic.Bool
}

func (e *evEvent) Query() (bool, error) {
	if f := e.b.query; f != nil {
		f(e)
	}
	if e.closed.Load() {
		e.b.late.Add(1)
	}
	return e.Event.Query()
}
func (e *evEvent) Close() error { e.closed.Store(true); return e.Event.Close() }

// Somebody is inside Event.Sync while the event is recorded anew and the last other backend's wait ends.
func TestEventReplacedUnderSync(t *testing.T) {
	ctx := context.Background()
	eb := &evBackend{Backend: host.New(host.Options{Name: "ev"})}
	d, err := hal.OpenWith(ctx, eb, 0)
	require.NoError(t, err)
	o, err := hal.OpenWith(ctx, host.New(host.Options{Name: "other"}), 0)
	require.NoError(t, err)
	s, err := d.NewStream(hal.StreamOptions{})
	require.NoError(t, err)
	w, err := o.NewStream(hal.StreamOptions{})
	require.NoError(t, err)
	e, err := d.NewEvent(hal.EventOptions{})
	require.NoError(t, err)
	g, err := s.Gate()
	require.NoError(t, err)
	require.NoError(t, s.Record(e))
	require.NoError(t, w.Wait(e)) // across backends: a goroutine waits on the vendor's event
	inside, leave := make(chan *evEvent, 1), make(chan struct{})
	var n atomic.Int32
	eb.query = func(x *evEvent) {
		if n.Add(1) == 1 {
			inside <- x
			<-leave
		}
	}
	done := make(chan error, 1)
	go func() { _, err := e.Query(); done <- err }()
	x := <-inside
	require.NoError(t, s.Record(e)) // replaces what w waits for
	require.NoError(t, g.Open())
	require.NoError(t, w.Sync(ctx))     // the wait has ended
	require.Eventually(t, func() bool { // the goroutine that waited for w has ended, too
		var stacks bytes.Buffer
		require.NoError(t, pprof.Lookup("goroutine").WriteTo(&stacks, 2))
		return !bytes.Contains(stacks.Bytes(), []byte(").bridge.func"))
	}, 10*time.Second, time.Millisecond)
	require.False(t, x.closed.Load(), "closed while it is asked")
	close(leave)
	require.NoError(t, <-done)
	require.NoError(t, w.Sync(ctx))
	require.NoError(t, e.Close())
	require.NoError(t, s.Close())
	require.NoError(t, w.Close())
	require.NoError(t, d.Close())
	require.NoError(t, o.Close())
	require.Zero(t, eb.late.Load(), "used after Close")
}

func TestRefusedCopyAcrossOrders(t *testing.T) {
	d := openNamed(t, "one", 0, 0)
	a, err := d.NewStream(hal.StreamOptions{})
	require.NoError(t, err)
	defer a.Close()
	b, err := d.NewStream(hal.StreamOptions{})
	require.NoError(t, err)
	defer b.Close()
	m, err := d.Alloc(hal.KindDevice, 64, 0)
	require.NoError(t, err)
	defer m.Close()
	g, err := b.Gate()
	require.NoError(t, err)
	defer g.Open()
	require.ErrorIs(t, hal.CopyAcross(a, m.Region(0, 128), b, m.Region(0, 128)), hal.ErrOutOfRange)
	idle, err := a.Query()
	require.NoError(t, err)
	require.True(t, idle, "a refused copy made the stream wait for the other")
}
