package main

import (
	"context"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// backend is a layer around a sound backend. It has one fault at most. Inside the fault it counts calls and makes them fail on demand, as
// conformance.Harness asks.
type backend struct {
	driver.Backend
	fault fault
	large bool // memory is larger than 4 GiB, and its middle is left alone
	apart bool // devices do not reach each other's memory

	caching bool // memory that was allocated in stream order is kept until Trim

	open   atomic.Int64 // devices
	broken atomic.Bool  // work fails when it runs
	locked sync.Map     // size of page-locked memory, by its address

	mu                    sync.Mutex
	last                  map[string]any
	calls, failAt, loseAt uint64
}

// ask counts a call and returns the error that it has to fail with.
func (b *backend) ask(p point) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	e := &driver.Error{Op: p.method, Backend: b.Backend.Name(), Device: b.ordinal(), Kind: driver.ErrDriver}
	switch b.calls {
	case b.failAt:
		e.Vendor = driver.Vendor{API: p.method, Name: "MADE_FAULT", Code: 1}
	case b.loseAt:
		e.Kind, e.Vendor = driver.ErrDeviceLost, driver.Vendor{API: p.method, Name: "MADE_LOST", Code: 2}
	default:
		return nil
	}
	return e
}

// ordinal is the device under test, on which calls fail.
func (b *backend) ordinal() int {
	if b.large || b.Backend.Name() == "cuda" {
		return 0
	}
	return 1
}

// CallCount implements conformance.FaultControl.
func (b *backend) CallCount() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.calls
}

// FailCall implements conformance.FaultControl.
func (b *backend) FailCall(n uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failAt = b.calls + n
}

// LoseDevice implements conformance.FaultControl.
func (b *backend) LoseDevice(n uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.loseAt = b.calls + n
}

// Reset implements conformance.FaultControl.
func (b *backend) Reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls, b.failAt, b.loseAt = 0, 0, 0
}

func (b *backend) Name() string {
	if b.is(nothing, point{"Backend.Name", ""}) {
		return ""
	}
	return b.Backend.Name()
}

func (b *backend) Devices(ctx context.Context) ([]driver.Info, error) {
	infos, err := b.Backend.Devices(ctx)
	for i := range infos {
		infos[i] = b.described(infos[i])
	}
	p := point{"Backend.Devices", ""}
	switch {
	case b.is(nothing, p):
		return nil, nil
	case b.is(short, p):
		infos = infos[:max(len(infos)-1, 0)]
	case b.is(fails, p):
		err = b.err(p)
	}
	return infos, err
}

func (b *backend) Open(ctx context.Context, ordinal int) (driver.Device, error) {
	return made(b, point{"Backend.Open", ""}, func() (driver.Device, error) {
		d, err := b.Backend.Open(ctx, ordinal)
		if err != nil {
			return nil, err
		}
		b.open.Add(1)
		return &device{Device: d, b: b}, nil
	}, func(d driver.Device) { _ = d.Close() })
}

func (b *backend) described(i driver.Info) driver.Info {
	if b.large {
		i.Class, i.SharesHostMemory = driver.ClassGPU, false
	}
	if b.is(nothing, point{"Device.Info", ""}) {
		return driver.Info{}
	}
	b.low("Device.Info", "MaxAlloc", &i.MaxAlloc)
	b.low("Device.Info", "TotalMemory", &i.TotalMemory)
	return i
}

// device is a device of the layer.
type device struct {
	driver.Device
	b    *backend
	side driver.Stream // for work that does not wait for its turn
	once sync.Once

	mu   sync.Mutex
	kept []driver.Memory
}

// forget frees what the device keeps.
func (d *device) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range d.kept {
		_ = m.Free()
	}
	d.kept = nil
}

// aside is a stream that nothing is ordered with.
func (d *device) aside() driver.Stream {
	d.once.Do(func() { d.side, _ = d.Device.NewStream(driver.StreamOptions{}) })
	return d.side
}

func (d *device) Info() driver.Info { return d.b.described(d.Device.Info()) }

func (d *device) MemInfo() (free, total uint64, err error) {
	p := point{"Device.MemInfo", ""}
	err = d.b.plain(p, func() (err error) { free, total, err = d.Device.MemInfo(); return err })
	d.b.low(p.method, "free", &free)
	d.b.low(p.method, "total", &total)
	return free, total, err
}

// wrap makes memory of the layer.
func (d *device) wrap(m driver.Memory, k driver.Kind, size uint64, err error) (driver.Memory, error) {
	if err != nil {
		return nil, err
	}
	if p := m.HostPointer(); p != nil && k != driver.KindDevice {
		d.b.locked.Store(uintptr(p), size)
	}
	return &memory{Memory: m, d: d, kind: k, size: size}, nil
}

// pageLocked reports whether the address lies in memory of the host that the backend knows.
func (b *backend) pageLocked(p uintptr) bool {
	found := false
	b.locked.Range(func(at, size any) bool {
		found = p >= at.(uintptr) && p-at.(uintptr) < uintptr(size.(uint64))
		return !found
	})
	return found
}

func unmake(m driver.Memory) { _ = m.(*memory).Memory.Free() }

var kindNames = map[driver.Kind]string{driver.KindDevice: "device memory", driver.KindHost: "host memory", driver.KindShared: "shared memory"}

func (d *device) Alloc(k driver.Kind, size, align uint64) (driver.Memory, error) {
	p := point{"Device.Alloc", kindNames[k]}
	d.b.low(p.method, "size", &size)
	d.b.low(p.method, "align", &align)
	m, err := made(d.b, p, func() (driver.Memory, error) {
		if d.b.large && k != driver.KindDevice && size > 1<<30 {
			// Page-locking would write all of it.
			return nil, &driver.Error{Op: "alloc", Backend: d.b.Backend.Name(), Kind: driver.ErrOutOfMemory}
		}
		m, err := d.Device.Alloc(k, size, align)
		return d.wrap(m, k, size, err)
	}, unmake)
	return shorter(d.b, p, m), err
}

// shorter takes the last byte of memory away if that is the fault.
func shorter(b *backend, p point, m driver.Memory) driver.Memory {
	if m, ok := m.(*memory); ok && b.is(short, p) && m.size > 1 {
		m.size--
	}
	return m
}

func (d *device) Register(ptr unsafe.Pointer, size uint64) (driver.Memory, error) {
	p := point{"Registerer.Register", ""}
	d.b.low(p.method, "size", &size)
	m, err := made(d.b, p, func() (driver.Memory, error) {
		m, err := d.Device.(driver.Registerer).Register(ptr, size)
		return d.wrap(m, driver.KindHost, size, err)
	}, unmake)
	return shorter(d.b, p, m), err
}

func (d *device) Import(k driver.Kind, handle uintptr, size uint64) (driver.Memory, error) {
	p, h := point{"Importer.Import", ""}, uint64(handle)
	d.b.low(p.method, "handle", &h)
	d.b.low(p.method, "size", &size)
	m, err := made(d.b, p, func() (driver.Memory, error) {
		m, err := d.Device.(driver.Importer).Import(k, uintptr(h), size)
		return d.wrap(m, k, size, err)
	}, unmake)
	return shorter(d.b, p, m), err
}

func (d *device) NewStream(o driver.StreamOptions) (driver.Stream, error) {
	return made(d.b, point{"Device.NewStream", ""}, func() (driver.Stream, error) {
		s, err := d.Device.NewStream(o)
		return d.streamOf(s, err)
	}, func(s driver.Stream) { _ = s.Close() })
}

func (d *device) streamOf(s driver.Stream, err error) (driver.Stream, error) {
	if err != nil {
		return nil, err
	}
	x := &stream{Stream: s, d: d, b: d.b}
	r, ok := s.(driver.Repeater)
	if !ok {
		r = list{s}
	}
	return &repeater{x, r}, nil
}

func (d *device) ImportStream(handle uintptr) (driver.Stream, error) {
	p, h := point{"StreamImporter.ImportStream", ""}, uint64(handle)
	d.b.low(p.method, "handle", &h)
	if d.b.is(nothing, p) {
		return d.NewStream(driver.StreamOptions{})
	}
	return made(d.b, p, func() (driver.Stream, error) {
		s, err := d.Device.(driver.StreamImporter).ImportStream(uintptr(h))
		return d.streamOf(s, err)
	}, func(s driver.Stream) { _ = s.Close() })
}

func (d *device) NewEvent(o driver.EventOptions) (driver.Event, error) {
	return made(d.b, point{"Device.NewEvent", ""}, func() (driver.Event, error) {
		e, err := d.Device.NewEvent(o)
		if err != nil {
			return nil, err
		}
		return &event{Event: e, d: d, b: d.b}, nil
	}, func(e driver.Event) { _ = e.Close() })
}

func (d *device) PeerAccess(other driver.Device) driver.PeerAccess {
	o, ok := other.(*device)
	if !ok || o.b != d.b {
		return 0
	}
	if d.b.apart && !d.b.is(wide, point{"Peering.PeerAccess", ""}) {
		return 0
	}
	a, p := d.Device.(driver.Peering).PeerAccess(o.Device), point{"Peering.PeerAccess", ""}
	switch {
	case d.b.is(nothing, p):
		return 0
	case d.b.is(short, p):
		return a &^ driver.PeerCopy
	}
	return a
}

func (d *device) PointerInfo(ptr uintptr) (i driver.PointerInfo, err error) {
	p, v := point{"PointerQuerier.PointerInfo", ""}, uint64(ptr)
	d.b.low(p.method, "pointer", &v)
	err = d.b.plain(p, func() (err error) { i, err = d.Device.(driver.PointerQuerier).PointerInfo(uintptr(v)); return err })
	if d.b.is(short, p) {
		i.Size--
	}
	return i, err
}

func (d *device) ExportIPC(m driver.Memory) (s driver.IPCShare, err error) {
	p := point{"IPCSharer.ExportIPC", ""}
	err = d.b.plain(p, func() (err error) { s, err = d.Device.(driver.IPCSharer).ExportIPC(m.(*memory).Memory); return err })
	switch {
	case d.b.is(short, p):
		s.Size--
	case d.b.is(cut, p):
		s.Offset = 0
	}
	return s, err
}

func (d *device) OpenIPC(s driver.IPCShare) (driver.Memory, error) {
	p := point{"IPCSharer.OpenIPC", ""}
	if d.b.is(cut, p) {
		s.Offset = 0
	}
	m, err := made(d.b, p, func() (driver.Memory, error) {
		m, err := d.Device.(driver.IPCSharer).OpenIPC(s)
		x, err := d.wrap(m, driver.KindDevice, s.Size, err)
		if err == nil {
			x.(*memory).opened = true
		}
		return x, err
	}, unmake)
	return shorter(d.b, p, m), err
}

func (d *device) Trim() {
	if d.b.is(nothing, point{"Trimmer.Trim", ""}) {
		return
	}
	d.forget()
	if t, ok := d.Device.(driver.Trimmer); ok {
		t.Trim()
	}
}

// mayBlock is FreeMayBlock of an object below.
func (b *backend) mayBlock(x any) bool {
	p := point{"FreeBlocker.FreeMayBlock", ""}
	f, ok := x.(driver.FreeBlocker)
	return !b.is(nothing, p) && (b.is(wide, p) || ok && f.FreeMayBlock())
}

func (d *device) FreeMayBlock() bool { return d.b.mayBlock(d.Device) }

// EventsKeepFailures says no on the host, where the layer decides how work ends.
func (d *device) EventsKeepFailures() bool {
	p := point{"FailureKeeper.EventsKeepFailures", ""}
	k, ok := d.Device.(driver.FailureKeeper)
	return !d.b.is(nothing, p) && (d.b.is(wide, p) || d.b.Backend.Name() == "cuda" && ok && k.EventsKeepFailures())
}

func (d *device) ForgetsToldFailures() bool {
	k, ok := d.Device.(driver.FailureKeeper)
	return ok && k.ForgetsToldFailures()
}

func (d *device) Close() error {
	return d.b.release(point{"Device.Close", ""}, func() error {
		d.b.open.Add(-1)
		d.forget()
		if d.side != nil {
			_ = d.side.Close()
			d.side = nil
		}
		return d.Device.Close()
	})
}
