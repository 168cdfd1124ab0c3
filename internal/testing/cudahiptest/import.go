package cudahiptest

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/cudahip"
	"github.com/go-halyard/halyard/internal/testing/pintest"
)

// openHal opens a device as programs do.
func (h *Harness) openHal(t testing.TB, ordinal int) *hal.Device {
	t.Helper()
	if ordinal >= h.count {
		t.Skipf("there are %d devices", h.count)
	}
	d, err := hal.OpenWith(context.Background(), h.backend, ordinal)
	ok(t, err)
	t.Cleanup(func() { ok(t, d.Close()) })
	return d
}

func driverKind(err, want error) bool {
	var e *driver.Error
	return errors.As(err, &e) && e.Kind == want
}

func adoptRefuses(h *Harness, t *testing.T) {
	h.reset(t, 0)
	a, b := h.open(t, 0), h.open(t, 1)
	take := func(d driver.Device, k driver.Kind, handle uintptr, size uint64, want error) {
		t.Helper()
		_, err := d.(driver.Importer).Import(k, handle, size)
		kind(t, err, want)
	}
	dev, host, shared := alloc(t, a, driver.KindDevice, 4096), alloc(t, a, driver.KindHost, 4096), alloc(t, a, driver.KindShared, 4096)
	take(b, driver.KindDevice, dev.Handle(), 4096, driver.ErrWrongDevice)
	take(a, driver.KindDevice, dev.Handle()+min(4096<<20, huge>>1), 1, driver.ErrInvalidArgument)
	take(a, driver.KindDevice, 8, 1, driver.ErrInvalidArgument)
	for want, m := range map[driver.Kind]driver.Memory{driver.KindDevice: dev, driver.KindHost: host, driver.KindShared: shared} {
		for _, k := range kinds {
			if k != want {
				take(a, k, m.Handle(), 4096, driver.ErrInvalidArgument)
			}
		}
		take(a, want, m.Handle(), 4097+4096, driver.ErrOutOfRange)
		take(a, want, m.Handle()+4000, 97+4096, driver.ErrOutOfRange)
	}
	// The driver does not know the host's pageable memory.
	plain := make([]byte, 4096)
	take(a, driver.KindHost, uintptr(at(plain)), 4096, driver.ErrInvalidArgument)

	s := newStream(t, a)
	stream := func(d driver.Device, handle uintptr, want error) {
		t.Helper()
		_, err := d.(driver.StreamImporter).ImportStream(handle)
		kind(t, err, want)
	}
	stream(b, s.Handle(), driver.ErrWrongDevice)
	stream(a, 2, driver.ErrUnsupported) // the default stream of the thread
	h.sim.Clear()
	stream(a, s.Handle()+1<<20, driver.ErrInvalidArgument)
	h.sim.Clear()         // the driver noted the call with an unknown stream
	newEvent(t, a, false) // the device still works
}

// importOldDriver imports memory and streams with a driver that cannot be queried about them.
func importOldDriver(h *Harness, t *testing.T) {
	if h.Binding == "linked" {
		t.Skip("this binding calls the library that it is linked against")
	}
	cuda, hip := Libraries(t, h.backend.Name(), "cuPointerGetAttribute", "hipPointerGetAttribute", "cuStreamGetCtx", "hipStreamGetDevice")
	path := map[string]string{"cuda": cuda, "hip": hip}[h.backend.Name()]
	t.Setenv(h.Env, path)
	old := *h
	old.backend = h.New()
	old.sim = attach(t, path)
	h = &old
	h.reset(t, 1)
	other, d := h.open(t, 0), h.openHal(t, 0)
	if d.Caps().Has(hal.CapPointerInfo) {
		t.Error("the device has CapPointerInfo, but the library lacks the call for it")
	}
	_, err := d.PointerInfo(1 << 20)
	kind(t, err, driver.ErrUnsupported)
	s := newStream(t, other)
	st, err := d.ImportStream(s.Handle(), nil)
	ok(t, err)
	for _, k := range kinds {
		mem := alloc(t, other, k, 4096)
		m, err := d.Import(hal.ExternalMemory{Kind: k, Handle: mem.Handle(), Size: 4096})
		ok(t, err)
		ok(t, st.CopyIn(m.All(), random(9, 4096)))
		same(t, "through an imported stream", read(t, s, whole(mem)), random(9, 4096))
		ok(t, m.Close())
	}
	ok(t, st.Close())
	_, err = d.Import(hal.ExternalMemory{Kind: hal.KindHost, Handle: pintest.Slice(t, make([]byte, 64)), Size: 64})
	kind(t, err, driver.ErrInvalidArgument)
}

// importDefaultStream works on the default stream, which programs use that do not name a stream.
func importDefaultStream(h *Harness, t *testing.T) {
	h.reset(t, 3)
	d := h.openHal(t, 0)
	s, err := d.ImportStream(0, nil)
	ok(t, err)
	m, err := d.Alloc(hal.KindDevice, 4096, 0)
	ok(t, err)
	ok(t, s.CopyIn(m.All(), random(4, 4096)))
	e, err := s.Record()
	ok(t, err)
	other, err := d.NewStream()
	ok(t, err)
	ok(t, other.WaitEvent(e))
	got := make([]byte, 4096)
	ok(t, other.CopyOut(got, m.All()))
	ok(t, other.Sync(t.Context()))
	same(t, "through the default stream", got, random(4, 4096))
	for _, c := range []func() error{e.Close, s.Close, other.Close, m.Close} {
		ok(t, c())
	}
}

func queryPointers(h *Harness, t *testing.T) {
	h.reset(t, 0)
	d := h.openHal(t, 0)
	if !d.Caps().Has(hal.CapPointerInfo) {
		if h.sim != nil {
			t.Fatal("the simulated device lacks CapPointerInfo")
		}
		t.Skip("the device lacks CapPointerInfo")
	}
	m, err := d.Alloc(hal.KindDevice, 5000, 0)
	ok(t, err)
	if h.sim != nil {
		p, err := d.PointerInfo(m.Handle() + 4999)
		ok(t, err)
		if want := (hal.PointerInfo{Kind: hal.KindDevice, Device: 0, Base: m.Handle(), Size: 5000}); p != want {
			t.Errorf("%+v, want %+v", p, want)
		}
	}
	if d.Caps().Has(hal.CapRegister) {
		b := make([]byte, 4096)
		r, err := d.Register(b)
		ok(t, err)
		for _, addr := range []uintptr{uintptr(at(b)) + 5, r.Handle() + 5} {
			p, err := d.PointerInfo(addr)
			ok(t, err)
			if p.Kind != hal.KindHost || p.Base != addr-5 {
				t.Errorf("registered memory at %#x: %+v", addr, p)
			}
		}
		ok(t, r.Close())
		_, err = d.PointerInfo(uintptr(at(b)))
		kind(t, err, driver.ErrInvalidArgument)
	}
	gone := m.Handle()
	ok(t, m.Close())
	if h.sim != nil {
		_, err = d.PointerInfo(gone)
		kind(t, err, driver.ErrInvalidArgument)
	}
}

func init() {
	mutants = append(mutants,
		mutant{"takes a pointer for the start of its allocation", func(a cudahip.API) cudahip.API { return startOnly{a} }},
		mutant{"lets memory be imported that is not there", func(a cudahip.API) cudahip.API { return endless{a} }},
		mutant{"takes page-locked memory for the device's", func(a cudahip.API) cudahip.API { return allDevice{a} }},
	)
}

// Attributes of an address, which have the same numbers in CUDA and in HIP.
const (
	addressType   = 2
	addressDevice = 3
	addressSize   = 12
)

type startOnly struct{ cudahip.API }

func (m startOnly) PointerAttribute(ctx cudahip.Context, number int32, addr uintptr) (uintptr, cudahip.Code) {
	if number == addressDevice {
		base, _, code := m.API.AddressRange(ctx, addr)
		return base, code
	}
	return m.API.PointerAttribute(ctx, number, addr)
}

// huge is a number of bytes that no memory has.
const huge = math.MaxInt>>1 + 1

type endless struct{ cudahip.API }

func (m endless) PointerAttribute(ctx cudahip.Context, number int32, addr uintptr) (uintptr, cudahip.Code) {
	v, code := m.API.PointerAttribute(ctx, number, addr)
	if number == addressSize {
		v = huge
	}
	return v, code
}

func (m endless) AddressRange(ctx cudahip.Context, addr uintptr) (base, size uintptr, code cudahip.Code) {
	base, _, code = m.API.AddressRange(ctx, addr)
	return base, huge, code
}

type allDevice struct{ cudahip.API }

func (m allDevice) PointerAttribute(ctx cudahip.Context, number int32, addr uintptr) (uintptr, cudahip.Code) {
	v, code := m.API.PointerAttribute(ctx, number, addr)
	if number == addressType && v == 1 {
		v = 2
	}
	return v, code
}
