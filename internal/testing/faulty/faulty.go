// Package faulty puts a layer around a backend that makes one chosen call fail, for tests of what
// stands above it. It works with real drivers, which cannot be told to fail.
package faulty

import (
	"context"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// Code is the vendor's status of errors made here.
const Code = 4242

// Backend passes every call on to another backend, except one that it was told to fail. That call has no
// effect, unless it releases something: that is released.
type Backend struct {
	real driver.Backend
	left atomic.Int64
	kind atomic.Pointer[error]
	hits atomic.Uint64
	made atomic.Uint64
	lies atomic.Int64
}

// New returns a layer around a backend, of the same name.
func New(real driver.Backend) *Backend { return &Backend{real: real} }

// Fail makes the n-th call from now on fail once, with an error of the kind; 1 is the next call. 0 takes the plan back.
func (b *Backend) Fail(n int64, kind error) {
	b.kind.Store(&kind)
	b.left.Store(n)
}

// Lie makes the n-th copy or fill from now on do nothing and report success, to see that a test notices.
func (b *Backend) Lie(n int64) { b.lies.Store(n) }

func (b *Backend) lying() bool { return b.lies.Load() > 0 && b.lies.Add(-1) == 0 }

// Failed is how many calls have failed on demand.
func (b *Backend) Failed() uint64 { return b.hits.Load() }

// Calls is how many calls could have failed.
func (b *Backend) Calls() uint64 { return b.made.Load() }

func (b *Backend) call(device int, op string) error {
	b.made.Add(1)
	if b.left.Load() <= 0 || b.left.Add(-1) != 0 {
		return nil
	}
	b.hits.Add(1)
	e := &driver.Error{Op: op, Backend: b.real.Name(), Device: device, Kind: *b.kind.Load(),
		Detail: "made to fail", Vendor: driver.Vendor{API: "faulty " + op, Name: "MADE_TO_FAIL", Code: Code}}
	if e.Kind == driver.ErrOutOfMemory {
		e.Shortage = &driver.Shortage{}
	}
	return e
}

// Name is the other backend's.
func (b *Backend) Name() string { return b.real.Name() }

// Devices lists the other backend's, without the abilities that this layer does not pass on.
func (b *Backend) Devices(ctx context.Context) ([]driver.Info, error) {
	infos, err := b.real.Devices(ctx)
	for i := range infos {
		infos[i].Caps &^= notPassedOn
	}
	return infos, err
}

const notPassedOn = driver.CapIPC | driver.CapImport | driver.CapImportStream | driver.CapPointerInfo

// Open opens a device. It does not fail on demand.
func (b *Backend) Open(ctx context.Context, ordinal int) (driver.Device, error) {
	d, err := b.real.Open(ctx, ordinal)
	if err != nil {
		return nil, err
	}
	return &device{real: d, b: b, ordinal: ordinal}, nil
}

type device struct {
	real    driver.Device
	b       *Backend
	ordinal int
}

func (d *device) call(op string) error { return d.b.call(d.ordinal, op) }

func (d *device) Info() driver.Info {
	i := d.real.Info()
	i.Caps &^= notPassedOn
	return i
}

func (d *device) MemInfo() (free, total uint64, err error) {
	if err := d.call("MemInfo"); err != nil {
		return 0, 0, err
	}
	return d.real.MemInfo()
}

func (d *device) Alloc(kind driver.Kind, size, align uint64) (driver.Memory, error) {
	if err := d.call("Alloc"); err != nil {
		return nil, err
	}
	return d.memory(d.real.Alloc(kind, size, align))
}

func (d *device) Register(p unsafe.Pointer, size uint64) (driver.Memory, error) {
	if err := d.call("Register"); err != nil {
		return nil, err
	}
	return d.memory(d.real.(driver.Registerer).Register(p, size))
}

func (d *device) memory(m driver.Memory, err error) (driver.Memory, error) {
	if err != nil {
		return nil, err
	}
	return &memory{Memory: m, d: d}, nil
}

func (d *device) NewStream(o driver.StreamOptions) (driver.Stream, error) {
	if err := d.call("NewStream"); err != nil {
		return nil, err
	}
	s, err := d.real.NewStream(o)
	if err != nil {
		return nil, err
	}
	return &stream{real: s, d: d}, nil
}

func (d *device) NewEvent(o driver.EventOptions) (driver.Event, error) {
	if err := d.call("NewEvent"); err != nil {
		return nil, err
	}
	e, err := d.real.NewEvent(o)
	if err != nil {
		return nil, err
	}
	return &event{real: e, d: d}, nil
}

func (d *device) PeerAccess(other driver.Device) driver.PeerAccess {
	o, ok := other.(*device)
	l, can := d.real.(driver.Peering)
	if !ok || !can {
		return 0
	}
	return l.PeerAccess(o.real)
}

func (d *device) Close() error { return d.released("Close device", d.real.Close()) }

// released turns the outcome of a release into an error if it is the call's turn.
func (d *device) released(op string, err error) error {
	if e := d.call(op); e != nil && err == nil {
		return e
	}
	return err
}

type memory struct {
	driver.Memory
	d *device
}

func (m *memory) Free() error { return m.d.released("Free", m.Memory.Free()) }

func (m *memory) NeedsMap() bool {
	n, ok := m.Memory.(driver.NeedsMapper)
	return ok && n.NeedsMap()
}

func (m *memory) FreeMayBlock() bool {
	w, ok := m.Memory.(driver.FreeBlocker)
	return ok && w.FreeMayBlock()
}

// raw is the region of the other backend's memory.
func raw(r driver.Region) driver.Region {
	r.Mem = r.Mem.(*memory).Memory
	return r
}

type stream struct {
	real driver.Stream
	d    *device
}

func (s *stream) do(op string, fn func() error) error {
	if err := s.d.call(op); err != nil {
		return err
	}
	return fn()
}

func (s *stream) move(op string, fn func() error) error {
	return s.do(op, func() error {
		if s.d.b.lying() {
			return nil
		}
		return fn()
	})
}

func (s *stream) Copy(dst, src driver.Region) error {
	return s.move("Copy", func() error { return s.real.Copy(raw(dst), raw(src)) })
}

func (s *stream) CopyIn(dst driver.Region, src unsafe.Pointer) error {
	return s.move("CopyIn", func() error { return s.real.CopyIn(raw(dst), src) })
}

func (s *stream) CopyOut(dst unsafe.Pointer, src driver.Region) error {
	return s.move("CopyOut", func() error { return s.real.CopyOut(dst, raw(src)) })
}

func (s *stream) Fill(dst driver.Region, p driver.Pattern) error {
	return s.move("Fill", func() error { return s.real.Fill(raw(dst), p) })
}

func (s *stream) Record(e driver.Event) error {
	return s.do("Record", func() error { return s.real.Record(e.(*event).real) })
}

func (s *stream) Wait(e driver.Event) error {
	return s.do("Wait", func() error { return s.real.Wait(e.(*event).real) })
}

func (s *stream) Query() (done bool, err error) {
	if err := s.d.call("Query"); err != nil {
		return false, err
	}
	return s.real.Query()
}

func (s *stream) Sync() error     { return s.do("Sync", s.real.Sync) }
func (s *stream) Handle() uintptr { return s.real.Handle() }
func (s *stream) Close() error    { return s.d.released("Close stream", s.real.Close()) }

func (s *stream) Gate() (g driver.Gate, err error) {
	err = s.do("Gate", func() error { g, err = s.real.(driver.Gater).Gate(); return err })
	return g, err
}

func (s *stream) OnDone(fn func()) error {
	return s.do("Call", func() error { return s.real.(driver.Notifier).OnDone(fn) })
}

func (s *stream) Prefetch(r driver.Region, toHost bool) error {
	return s.do("Prefetch", func() error { return s.real.(driver.Prefetcher).Prefetch(raw(r), toHost) })
}

func (s *stream) Map(m driver.Memory, write bool) error {
	return s.do("Map", func() error { return s.real.(driver.Mapper).Map(m.(*memory).Memory, write) })
}

func (s *stream) Unmap(m driver.Memory) error {
	return s.do("Unmap", func() error { return s.real.(driver.Mapper).Unmap(m.(*memory).Memory) })
}

func (s *stream) AllocAsync(size, align uint64) (driver.Memory, error) {
	if err := s.d.call("AllocAsync"); err != nil {
		return nil, err
	}
	return s.d.memory(s.real.(driver.StreamAllocator).AllocAsync(size, align))
}

func (s *stream) FreeAsync(m driver.Memory) error {
	return s.d.released("FreeAsync", s.real.(driver.StreamAllocator).FreeAsync(m.(*memory).Memory))
}

type event struct {
	real driver.Event
	d    *device
}

func (e *event) Query() (done bool, err error) {
	if err := e.d.call("Query event"); err != nil {
		return false, err
	}
	return e.real.Query()
}

func (e *event) Sync() error {
	if err := e.d.call("Sync event"); err != nil {
		return err
	}
	return e.real.Sync()
}

func (e *event) Close() error { return e.d.released("Close event", e.real.Close()) }

func (e *event) Elapsed(since driver.Event) (time.Duration, error) {
	if err := e.d.call("Elapsed"); err != nil {
		return 0, err
	}
	return e.real.(driver.Timer).Elapsed(since.(*event).real)
}
