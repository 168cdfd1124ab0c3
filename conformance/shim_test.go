package conformance_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/conformance"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// shim is a host backend with a layer around it that counts calls, makes them fail on demand, and has
// at most one bug.
type shim struct {
	hooked.Backend
	real   driver.Backend
	traits traits

	open  atomic.Int64 // devices
	lists atomic.Int64

	mu      sync.Mutex
	calls   uint64
	failAt  uint64
	loseAt  uint64
	sticky  error
	streams []driver.Stream // real ones

	sawShortage, wasClosed atomic.Bool
	broken                 atomic.Bool // work fails when it runs
}

// bug is what a mutant does wrong.
type bug interface{ infect(b *shim) }

// bugs are several, of which the last one decides.
type bugs []bug

func (all bugs) infect(b *shim) {
	for _, g := range all {
		g.infect(b)
	}
}

// hooks are a bug of the layer's methods.
type hooks hooked.Backend

func (h hooks) infect(b *shim) {
	b.Backend = hooked.Backend(h)
	b.Backend.Backend = b.real
}

// traits are a bug for which the layer has to know what the shim knows.
type traits struct {
	list      func(b *shim, infos []driver.Info) []driver.Info
	info      func(b *shim, i driver.Info) driver.Info
	openFails func(b *shim) error
	closes    func(b *shim)
	fault     func(b *shim, e *driver.Error) error
	codes     []driver.Error
	silent    bool // work that fails when it runs is said to have succeeded

	// liesAboutDone is set where work is reported done that is not: memory is then given back behind the
	// scenes only when it really is, since the process would crash otherwise.
	liesAboutDone bool
}

func (t traits) infect(b *shim) { b.traits = t }

func newShim(g bug) *shim {
	b := &shim{real: host.New(host.Options{Name: "shim", Discrete: 3, MemoryLimit: 32 << 20})}
	b.Backend.Backend = b.real
	if g != nil {
		g.infect(b)
	}
	b.Call, b.Drop = b.call, b.drop
	b.List = func(infos []driver.Info) []driver.Info {
		b.lists.Add(1)
		if b.traits.list != nil {
			infos = b.traits.list(b, infos)
		}
		return infos
	}
	b.Info = func(i driver.Info) driver.Info {
		i.Caps &^= driver.CapImportStream // the shim orders the streams that it makes, and not those that it imports
		if b.traits.info != nil {
			return b.traits.info(b, i)
		}
		return i
	}
	if b.traits.openFails != nil {
		b.Opening = func(int) error { return b.traits.openFails(b) }
	}
	b.Opened = func(d *hooked.Device) {
		d.Data = &shimDevice{b: b, real: d.Device}
		b.open.Add(1)
	}
	b.CloseDevice = func(d *hooked.Device) error {
		b.open.Add(-1)
		if b.traits.closes != nil {
			b.traits.closes(b)
		}
		return d.Device.Close()
	}
	b.NewStream = func(d *hooked.Device, o driver.StreamOptions) (*hooked.Stream, error) {
		s, err := d.PlainNewStream(o)
		if err == nil {
			s.Data = new(shimStream)
			b.mu.Lock()
			b.streams = append(b.streams, s.Stream)
			b.mu.Unlock()
		}
		return s, err
	}
	if b.CloseStream == nil {
		b.CloseStream = func(s *hooked.Stream) error {
			if !b.traits.liesAboutDone { // else its work may still be under way
				b.mu.Lock()
				b.streams = slices.DeleteFunc(b.streams, func(o driver.Stream) bool { return o == s.Stream })
				b.mu.Unlock()
			}
			return s.Stream.Close()
		}
	}
	b.NewEvent = func(d *hooked.Device, o driver.EventOptions) (*hooked.Event, error) {
		e, err := d.PlainNewEvent(o)
		if err == nil {
			e.Data = new(shimEvent)
		}
		return e, err
	}
	b.tellLate()
	if b.Register == nil {
		b.Register = func(d *hooked.Device, p unsafe.Pointer, size uint64) (*hooked.Memory, error) {
			m, err := d.PlainRegister(p, size)
			if err == nil {
				shown(m).registered = p
			}
			return m, err
		}
	}
	if b.Free == nil {
		b.Free = free
	}
	return b
}

// vendorError is what the shim makes of a status.
func vendorError(code int64, name string, kind error) driver.Error {
	return driver.Error{Kind: kind, Vendor: driver.Vendor{Code: code, Name: name}}
}

func (b *shim) harness() conformance.Harness {
	other := host.New(host.Options{Name: "elsewhere", Discrete: 1, MemoryLimit: 64 << 20})
	codes := b.traits.codes
	if codes == nil {
		codes = []driver.Error{vendorError(1, "SHIM_FAULT", driver.ErrDriver), vendorError(2, "SHIM_LOST", driver.ErrDeviceLost)}
	}
	return conformance.Harness{
		Open: opener(b, 1), Peer: opener(b, 2), Backend: b,
		Others:      []openFunc{opener(other, 1)},
		Short:       true,
		Faults:      func() conformance.FaultControl { return b },
		VendorCodes: func() []driver.Error { return codes },
		Contexts:    func() int { return int(b.open.Load()) },
		FailAsync:   b.broken.Store,
	}
}

// CallCount implements conformance.FaultControl.
func (b *shim) CallCount() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.calls
}

// FailCall implements conformance.FaultControl.
func (b *shim) FailCall(n uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failAt = b.calls + n
}

// LoseDevice implements conformance.FaultControl.
func (b *shim) LoseDevice(n uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.loseAt = b.calls + n
}

// Reset implements conformance.FaultControl.
func (b *shim) Reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls, b.failAt, b.loseAt = 0, 0, 0
}

// call counts one driver call and returns the error that it is to fail with.
func (b *shim) call(op string, ordinal int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	e := &driver.Error{Op: op, Backend: "shim", Device: ordinal}
	switch b.calls {
	case b.failAt:
		e.Kind, e.Vendor = driver.ErrDriver, driver.Vendor{API: "shim " + op, Name: "SHIM_FAULT", Code: 1}
	case b.loseAt:
		e.Kind, e.Vendor = driver.ErrDeviceLost, driver.Vendor{API: "shim " + op, Name: "SHIM_LOST", Code: 2}
	default:
		return b.sticky
	}
	if b.traits.fault != nil {
		return b.traits.fault(b, e)
	}
	return e
}

// shimDevice is what the shim knows of a device, shimStream of a stream, shimEvent of an event, and shimMemory of memory.
type shimDevice struct {
	b    *shim
	real driver.Device
	side driver.Stream // for bugs that work out of order, made on demand
	once sync.Once
	last *hooked.Memory
}

type shimStream struct{ late atomic.Pointer[lateFault] }

type shimEvent struct {
	recorded atomic.Bool
	late     atomic.Pointer[lateFault]
}

type shimMemory struct {
	registered unsafe.Pointer
	shadow     []byte
}

func own(d *hooked.Device) *shimDevice { return d.Data.(*shimDevice) }

func shown(m *hooked.Memory) *shimMemory {
	if m.Data == nil {
		m.Data = new(shimMemory)
	}
	return m.Data.(*shimMemory)
}

// aside is a stream of the device that nothing is ordered with.
func aside(s *hooked.Stream) driver.Stream {
	d := own(s.Device)
	d.once.Do(func() { d.side, _ = d.real.NewStream(driver.StreamOptions{}) })
	return d.side
}

// all are the real streams of all devices.
func (b *shim) all() []driver.Stream {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.streams)
}

func free(m *hooked.Memory) error {
	if m.Lent {
		return nil
	}
	b := own(m.Device).b
	if !b.traits.liesAboutDone {
		return m.Memory.Free()
	}
	streams := b.all()
	go func() {
		for _, s := range streams {
			_ = s.Sync()
		}
		_ = m.Memory.Free()
	}()
	return nil
}

// lateFault is the failure of work that was accepted.
type lateFault struct {
	err  error
	told atomic.Bool // somebody has been given it
}

// tell returns the error, of nil none.
func (f *lateFault) tell() error {
	if f == nil {
		return nil
	}
	f.told.Store(true)
	return f.err
}

// untold is the failure that nobody has been told of.
func untold(s *hooked.Stream) *lateFault {
	if f := s.Data.(*shimStream).late.Load(); f != nil && !f.told.Load() {
		return f
	}
	return nil
}

// drop reports whether work is to fail when it runs.
func (b *shim) drop(s *hooked.Stream, op string) bool {
	if !b.broken.Load() {
		return false
	}
	if !b.traits.silent {
		s.Data.(*shimStream).late.Store(&lateFault{err: &driver.Error{Op: op, Backend: "shim", Device: s.Device.Ordinal,
			Kind: driver.ErrDriver, Vendor: driver.Vendor{API: "shim " + op, Name: "SHIM_FAULT", Code: 1}}})
	}
	return true
}

// tellLate makes streams and events tell of work that failed when it ran.
func (b *shim) tellLate() {
	record := b.Record
	b.Record = func(s *hooked.Stream, e *hooked.Event) error {
		e.Data.(*shimEvent).late.Store(untold(s))
		if record != nil {
			return record(s, e)
		}
		return s.Stream.Record(e.Event)
	}
	first := func(err error, f *lateFault) error {
		if err == nil {
			err = f.tell()
		}
		return err
	}
	if b.Query == nil {
		b.Query = func(s *hooked.Stream) (bool, error) {
			done, err := s.Stream.Query()
			if done {
				err = first(err, untold(s))
			}
			return done, err
		}
	}
	if b.Sync == nil {
		b.Sync = func(s *hooked.Stream) error {
			err := s.Stream.Sync()
			return first(err, untold(s))
		}
	}
	if b.QueryEvent == nil {
		b.QueryEvent = func(e *hooked.Event) (bool, error) {
			done, err := e.Event.Query()
			if done {
				err = first(err, e.Data.(*shimEvent).late.Load())
			}
			return done, err
		}
	}
	if b.SyncEvent == nil {
		b.SyncEvent = func(e *hooked.Event) error {
			err := e.Event.Sync()
			return first(err, e.Data.(*shimEvent).late.Load())
		}
	}
}
