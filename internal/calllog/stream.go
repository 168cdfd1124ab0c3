package calllog

import (
	"fmt"
	"time"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// stream is the layer around a stream.
type stream struct {
	driver.Stream
	d    *device
	name string
}

func (s *stream) did(call string, bytes uint64, fn func() error) error {
	return s.d.did(s.name, call, bytes, fn)
}

func (s *stream) Copy(dst, src driver.Region) error {
	return s.did("Copy", dst.Len, func() error { return s.Stream.Copy(below(dst), below(src)) })
}

func (s *stream) CopyIn(dst driver.Region, src unsafe.Pointer) error {
	return s.did("CopyIn", dst.Len, func() error { return s.Stream.CopyIn(below(dst), src) })
}

func (s *stream) CopyOut(dst unsafe.Pointer, src driver.Region) error {
	return s.did("CopyOut", src.Len, func() error { return s.Stream.CopyOut(dst, below(src)) })
}

func (s *stream) Copy2D(r driver.Rect) error {
	r.Dst.Mem, r.Src.Mem = raw(r.Dst.Mem), raw(r.Src.Mem)
	return optional(s.d, s.Stream, s.name, "Copy2D", r.Width*r.Rows, func(c driver.Copier2D) error { return c.Copy2D(r) })
}

func (s *stream) Fill(dst driver.Region, p driver.Pattern) error {
	return s.did("Fill", dst.Len, func() error { return s.Stream.Fill(below(dst), p) })
}

func (s *stream) Record(e driver.Event) error {
	return s.did("Record"+nameOf(e), none, func() error { return s.Stream.Record(rawEvent(e)) })
}

func (s *stream) Wait(e driver.Event) error {
	return s.did("Wait"+nameOf(e), none, func() error { return s.Stream.Wait(rawEvent(e)) })
}

func (s *stream) Query() (done bool, err error) {
	err = s.did("Query", none, func() (err error) { done, err = s.Stream.Query(); return err })
	return done, err
}

func (s *stream) Sync() error { return s.did("Sync", none, s.Stream.Sync) }

func (s *stream) Close() error { return s.did("Close", none, s.Stream.Close) }

func (s *stream) Gate() (driver.Gate, error) {
	var g driver.Gate
	err := optional(s.d, s.Stream, s.name, "Gate", none, func(i driver.Gater) (err error) { g, err = i.Gate(); return err })
	if err != nil {
		return nil, err
	}
	return &gate{g, s}, nil
}

func (s *stream) OnDone(fn func()) error {
	return optional(s.d, s.Stream, s.name, "OnDone", none, func(n driver.Notifier) error { return n.OnDone(fn) })
}

func (s *stream) AllocAsync(size, align uint64) (driver.Memory, error) {
	var m driver.Memory
	err := optional(s.d, s.Stream, s.name, "AllocAsync", size, func(a driver.StreamAllocator) (err error) { m, err = a.AllocAsync(size, align); return err })
	return s.d.memory(m, err)
}

func (s *stream) FreeAsync(m driver.Memory) error {
	return optional(s.d, s.Stream, s.name, "FreeAsync", m.Size(), func(a driver.StreamAllocator) error { return a.FreeAsync(raw(m)) })
}

func (s *stream) Prefetch(r driver.Region, toHost bool) error {
	return optional(s.d, s.Stream, s.name, "Prefetch", r.Len, func(p driver.Prefetcher) error { return p.Prefetch(below(r), toHost) })
}

func (s *stream) Map(m driver.Memory, write bool) error {
	return optional(s.d, s.Stream, s.name, "Map", m.Size(), func(i driver.Mapper) error { return i.Map(raw(m), write) })
}

func (s *stream) Unmap(m driver.Memory) error {
	return optional(s.d, s.Stream, s.name, "Unmap", m.Size(), func(i driver.Mapper) error { return i.Unmap(raw(m)) })
}

func (s *stream) Launch(k driver.Kernel, l *driver.Launch) error {
	own := *l
	own.Args = make([]driver.Arg, len(l.Args))
	for i, a := range l.Args {
		a.Region = below(a.Region)
		own.Args[i] = a
	}
	call := fmt.Sprintf("Launch %s, %v blocks of %v threads", k.Info().Name, l.Grid, l.Block)
	return optional(s.d, s.Stream, s.name, call, none, func(i driver.Launcher) error { return i.Launch(k, &own) })
}

type gate struct {
	driver.Gate
	s *stream
}

func (g *gate) Open() error { return g.s.did("Open gate", none, g.Gate.Open) }

// event is the layer around an event.
type event struct {
	driver.Event
	d    *device
	name string
}

func (e *event) Query() (done bool, err error) {
	err = e.d.did(e.name, "Query", none, func() (err error) { done, err = e.Event.Query(); return err })
	return done, err
}

func (e *event) Sync() error { return e.d.did(e.name, "Sync", none, e.Event.Sync) }

func (e *event) Close() error { return e.d.did(e.name, "Close", none, e.Event.Close) }

func (e *event) Elapsed(since driver.Event) (t time.Duration, err error) {
	err = optional(e.d, e.Event, e.name, "Elapsed", none, func(i driver.Timer) (err error) { t, err = i.Elapsed(rawEvent(since)); return err })
	return t, err
}

func rawEvent(e driver.Event) driver.Event {
	if w, ok := e.(*event); ok {
		return w.Event
	}
	return e
}

// nameOf is the event's name with a space before it.
func nameOf(e driver.Event) string {
	if w, ok := e.(*event); ok {
		return " " + w.name
	}
	return ""
}
