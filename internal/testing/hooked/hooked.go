// Package hooked puts a layer around a backend that calls a test's function at chosen points, for tests of what
// happens when somebody else acts just then.
package hooked

import (
	"context"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// Backend passes calls on to another backend, and calls those of its functions that are not nil. They
// are set before the calls that they are meant for begin.
type Backend struct {
	driver.Backend
	Make   func()       // before a stream, an event or memory is made
	Copy   func()       // in place of a copy to or from the host, which does nothing else then
	Free   func()       // before memory is freed that was allocated since this was set
	Record func()       // before an event is recorded
	Query  func(*Event) // before an event is queried

	late atomic.Int32
}

// Late is how many queries there were of events that had been closed.
func (b *Backend) Late() int { return int(b.late.Load()) }

// Open opens a device, which has of the optional abilities only what the streams' Gate needs.
func (b *Backend) Open(ctx context.Context, ordinal int) (driver.Device, error) {
	d, err := b.Backend.Open(ctx, ordinal)
	if err != nil {
		return nil, err
	}
	return &device{d, b}, nil
}

type device struct {
	driver.Device
	b *Backend
}

func (d *device) making() {
	if f := d.b.Make; f != nil {
		f()
	}
}

func (d *device) NewStream(o driver.StreamOptions) (driver.Stream, error) {
	d.making()
	s, err := d.Device.NewStream(o)
	if err != nil {
		return nil, err
	}
	return &stream{s, s.(driver.Gater), d.b}, nil
}

func (d *device) Alloc(kind driver.Kind, size, align uint64) (driver.Memory, error) {
	d.making()
	m, err := d.Device.Alloc(kind, size, align)
	if err == nil && d.b.Free != nil {
		m = &memory{m, d.b}
	}
	return m, err
}

func (d *device) NewEvent(o driver.EventOptions) (driver.Event, error) {
	d.making()
	e, err := d.Device.NewEvent(o)
	if err != nil {
		return nil, err
	}
	return &Event{Event: e, b: d.b}, nil
}

type stream struct {
	driver.Stream
	driver.Gater
	b *Backend
}

func (s *stream) CopyIn(dst driver.Region, src unsafe.Pointer) error {
	if f := s.b.Copy; f != nil {
		f()
		return nil
	}
	return s.Stream.CopyIn(raw(dst), src)
}

func (s *stream) CopyOut(dst unsafe.Pointer, src driver.Region) error {
	if f := s.b.Copy; f != nil {
		f()
		return nil
	}
	return s.Stream.CopyOut(dst, raw(src))
}

func (s *stream) Record(e driver.Event) error {
	if f := s.b.Record; f != nil {
		f()
	}
	return s.Stream.Record(e.(*Event).Event)
}

func (s *stream) Wait(e driver.Event) error { return s.Stream.Wait(e.(*Event).Event) }

// Event is an event of the layer.
type Event struct {
	driver.Event
	b      *Backend
	closed atomic.Bool
}

// Closed reports whether the event has been closed.
func (e *Event) Closed() bool { return e.closed.Load() }

// Query is the other backend's.
func (e *Event) Query() (bool, error) {
	if f := e.b.Query; f != nil {
		f(e)
	}
	if e.closed.Load() {
		e.b.late.Add(1)
	}
	return e.Event.Query()
}

// Close is the other backend's.
func (e *Event) Close() error {
	e.closed.Store(true)
	return e.Event.Close()
}
