package staging_test

import (
	"context"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal/driver"
)

// shim is the host backend with calls that fail on demand, a count of what is alive, and fewer capabilities.
type shim struct {
	*host.Backend
	lacks         driver.Caps
	short         atomic.Bool  // of page-locked memory
	calls, failAt atomic.Int64 // calls made, and the one that fails
	alive         atomic.Int64 // memory, streams and events
	onCopy        func()       // called in every copy between regions, if not nil
}

func newShim() *shim { return &shim{Backend: host.New(host.Options{Discrete: 1})} }

// fail counts a call and returns the error that it is to fail with.
func (b *shim) fail(op string) error {
	if b.calls.Add(1) == b.failAt.Load() {
		return &driver.Error{Op: op, Kind: driver.ErrInternal, Detail: "as planned"}
	}
	return nil
}

func (b *shim) Open(ctx context.Context, ordinal int) (driver.Device, error) {
	d, err := b.Backend.Open(ctx, ordinal)
	if err != nil {
		return nil, err
	}
	return &shimDevice{d, b}, nil
}

type shimDevice struct {
	driver.Device
	b *shim
}

func (d *shimDevice) Info() driver.Info {
	i := d.Device.Info()
	i.Caps &^= d.b.lacks
	return i
}

func (d *shimDevice) Alloc(kind driver.Kind, size, align uint64) (driver.Memory, error) {
	if kind == driver.KindHost && d.b.short.Load() {
		return nil, &driver.Error{Op: "alloc", Kind: driver.ErrOutOfMemory}
	}
	if err := d.b.fail("alloc"); err != nil {
		return nil, err
	}
	m, err := d.Device.Alloc(kind, size, align)
	if err != nil {
		return nil, err
	}
	d.b.alive.Add(1)
	return &shimMemory{m, d.b}, nil
}

func (d *shimDevice) NewStream(o driver.StreamOptions) (driver.Stream, error) {
	s, err := d.Device.NewStream(o)
	if err != nil {
		return nil, err
	}
	d.b.alive.Add(1)
	return &shimStream{s, d.b}, nil
}

func (d *shimDevice) NewEvent(o driver.EventOptions) (driver.Event, error) {
	if err := d.b.fail("new event"); err != nil {
		return nil, err
	}
	e, err := d.Device.NewEvent(o)
	if err != nil {
		return nil, err
	}
	d.b.alive.Add(1)
	return &shimEvent{e, d.b}, nil
}

type shimMemory struct {
	driver.Memory
	b *shim
}

func (m *shimMemory) Free() error {
	m.b.alive.Add(-1)
	return m.Memory.Free()
}

type shimEvent struct {
	driver.Event
	b *shim
}

func (e *shimEvent) Close() error {
	e.b.alive.Add(-1)
	return e.Event.Close()
}

type shimStream struct {
	driver.Stream
	b *shim
}

func real(r driver.Region) driver.Region {
	r.Mem = r.Mem.(*shimMemory).Memory
	return r
}

func (s *shimStream) Copy(dst, src driver.Region) error {
	if err := s.b.fail("copy"); err != nil {
		return err
	}
	if s.b.onCopy != nil {
		s.b.onCopy()
	}
	return s.Stream.Copy(real(dst), real(src))
}

func (s *shimStream) CopyIn(dst driver.Region, src unsafe.Pointer) error {
	if err := s.b.fail("copy in"); err != nil {
		return err
	}
	return s.Stream.CopyIn(real(dst), src)
}

func (s *shimStream) CopyOut(dst unsafe.Pointer, src driver.Region) error {
	if err := s.b.fail("copy out"); err != nil {
		return err
	}
	return s.Stream.CopyOut(dst, real(src))
}

func (s *shimStream) Record(e driver.Event) error {
	if err := s.b.fail("record"); err != nil {
		return err
	}
	return s.Stream.Record(e.(*shimEvent).Event)
}

func (s *shimStream) Wait(e driver.Event) error { return s.Stream.Wait(e.(*shimEvent).Event) }

func (s *shimStream) Gate() (driver.Gate, error) { return s.Stream.(driver.Gater).Gate() }

func (s *shimStream) Close() error {
	s.b.alive.Add(-1)
	return s.Stream.Close()
}
