package buffer_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
)

var errLate = errors.New("it failed when it ran")

// faulty is a host backend whose transfers fail on demand: late, so that only the event behind one tells.
type faulty struct {
	driver.Backend
	mu   sync.Mutex
	next map[string]int // operations that are to fail, by name

	linked bool        // the devices reach each other
	odds   func() bool // whether a transfer is to fail, if it is set
}

// fail makes the next n operations of that name fail when they run.
func (b *faulty) fail(op string, n int) {
	b.mu.Lock()
	b.next[op] = n
	b.mu.Unlock()
}

func (b *faulty) fails(op string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.odds != nil && b.odds() {
		return true
	}
	if b.next[op] == 0 {
		return false
	}
	b.next[op]--
	return true
}

func (b *faulty) Open(ctx context.Context, ordinal int) (driver.Device, error) {
	d, err := b.Backend.Open(ctx, ordinal)
	return &faultyDevice{d, b}, err
}

type faultyDevice struct {
	driver.Device
	b *faulty
}

func (d *faultyDevice) Info() driver.Info {
	info := d.Device.Info()
	info.Caps &= driver.CapAddress | driver.CapAsyncCopy | driver.CapOrderedPageable | driver.CapGate | driver.CapMemInfo
	return info
}

func (d *faultyDevice) PeerAccess(other driver.Device) driver.PeerAccess {
	o, ok := other.(*faultyDevice)
	if !ok || !d.b.linked {
		return 0
	}
	return d.Device.(driver.Peering).PeerAccess(o.Device)
}

func (d *faultyDevice) NewStream(o driver.StreamOptions) (driver.Stream, error) {
	s, err := d.Device.NewStream(o)
	return &faultyStream{Stream: s, b: d.b}, err
}

func (d *faultyDevice) NewEvent(o driver.EventOptions) (driver.Event, error) {
	e, err := d.Device.NewEvent(o)
	return &faultyEvent{Event: e}, err
}

type faultyStream struct {
	driver.Stream
	b   *faulty
	mu  sync.Mutex
	err error // of the last operation, for the events behind it
}

func (s *faultyStream) unless(op string, do func() error) error {
	fails := s.b.fails(op)
	s.mu.Lock()
	s.err = nil
	if fails {
		s.err = errLate
	}
	s.mu.Unlock()
	if fails {
		return nil
	}
	return do()
}

func (s *faultyStream) Copy(dst, src driver.Region) error {
	return s.unless("Copy", func() error { return s.Stream.Copy(dst, src) })
}

func (s *faultyStream) CopyIn(dst driver.Region, src unsafe.Pointer) error {
	return s.unless("CopyIn", func() error { return s.Stream.CopyIn(dst, src) })
}

func (s *faultyStream) CopyOut(dst unsafe.Pointer, src driver.Region) error {
	return s.unless("CopyOut", func() error { return s.Stream.CopyOut(dst, src) })
}

func (s *faultyStream) Fill(dst driver.Region, p driver.Pattern) error {
	return s.unless("Fill", func() error { return s.Stream.Fill(dst, p) })
}

func (s *faultyStream) Record(e driver.Event) error {
	ev := e.(*faultyEvent)
	s.mu.Lock()
	err := s.err
	s.mu.Unlock()
	ev.mu.Lock()
	ev.err = err
	ev.mu.Unlock()
	return s.Stream.Record(ev.Event)
}

func (s *faultyStream) Wait(e driver.Event) error { return s.Stream.Wait(e.(*faultyEvent).Event) }

func (s *faultyStream) Gate() (driver.Gate, error) { return s.Stream.(driver.Gater).Gate() }

type faultyEvent struct {
	driver.Event
	mu  sync.Mutex
	err error
}

func (e *faultyEvent) fault() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

func (e *faultyEvent) Query() (bool, error) {
	done, err := e.Event.Query()
	if done && err == nil {
		err = e.fault()
	}
	return done, err
}

func (e *faultyEvent) Sync() error {
	if err := e.Event.Sync(); err != nil {
		return err
	}
	return e.fault()
}

// openFaulty opens discrete devices of one backend, none of which reaches another.
func openFaulty(tb testing.TB, n int) (b *faulty, devs []*hal.Device) {
	tb.Helper()
	b = &faulty{Backend: host.New(host.Options{Name: "faulty", Discrete: n}), next: map[string]int{}}
	for i := range n {
		d, err := hal.OpenWith(ctx, b, i+1)
		require.NoError(tb, err)
		tb.Cleanup(func() { require.NoError(tb, d.Close()) })
		devs = append(devs, d)
	}
	return b, devs
}
