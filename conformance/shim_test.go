package conformance_test

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/conformance"
	"github.com/go-halyard/halyard/hal/driver"
)

// shim is a host backend with a layer around it that counts calls, makes them fail on demand, and has
// at most one bug.
type shim struct {
	real *host.Backend
	bug  bug

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

// bug replaces what it sets. Regions, memories, streams and events are those of the host backend.
type bug struct {
	list        func(b *shim, infos []driver.Info) []driver.Info
	info        func(b *shim, i driver.Info) driver.Info
	openFails   func(b *shim) error
	memInfo     func(free, total uint64) (uint64, uint64)
	alloc       func(d *shimDevice, kind driver.Kind, size, align uint64) (*shimMemory, error)
	allocAsync  func(s *shimStream, size, align uint64) (*shimMemory, error)
	free        func(m *shimMemory) error
	hostPointer func(m *shimMemory) unsafe.Pointer
	register    func(d *shimDevice, p unsafe.Pointer, size uint64) (*shimMemory, error)
	imports     func(d *shimDevice, real driver.Memory, kind driver.Kind, handle uintptr, size uint64) (*shimMemory, error)
	link        func(driver.PeerAccess) driver.PeerAccess
	copy        func(s *shimStream, dst, src driver.Region, foreign bool) error
	copyIn      func(s *shimStream, dst driver.Region, src unsafe.Pointer) error
	copyOut     func(s *shimStream, dst unsafe.Pointer, src driver.Region) error
	fill        func(s *shimStream, dst driver.Region, p driver.Pattern) error
	record      func(s *shimStream, e *shimEvent) error
	wait        func(s *shimStream, e *shimEvent) error
	query       func(s *shimStream) (bool, error)
	sync        func(s *shimStream) error
	gate        func(s *shimStream) (driver.Gate, error)
	call        func(s *shimStream, fn func()) error
	eventQuery  func(e *shimEvent) (bool, error)
	eventSync   func(e *shimEvent) error
	elapsed     func(d time.Duration, err error) (time.Duration, error)
	fault       func(b *shim, e *driver.Error) error
	closeDevice func(d *shimDevice) error
	codes       []driver.Error
	silent      bool // work that fails when it runs is said to have succeeded

	// mapped says which kinds of memory host and device take turns with.
	mapped func(driver.Kind) bool

	// freeWaits is what memory says of free.
	freeWaits bool

	// liesAboutDone is set where work is reported done that is not: memory is then given back behind the
	// scenes only when it really is, since the process would crash otherwise.
	liesAboutDone bool
}

func newShim(g bug) *shim {
	return &shim{real: host.New(host.Options{Name: "shim", Discrete: 3, MemoryLimit: 32 << 20}), bug: g}
}

// vendorError is what the shim makes of a status.
func vendorError(code int64, name string, kind error) driver.Error {
	return driver.Error{Kind: kind, Vendor: driver.Vendor{Code: code, Name: name}}
}

func (b *shim) harness() conformance.Harness {
	other := host.New(host.Options{Name: "elsewhere", Discrete: 1, MemoryLimit: 64 << 20})
	codes := b.bug.codes
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

// LoseDevice implements conformance.DeviceLoss.
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
func (b *shim) call(ordinal int, api string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	e := &driver.Error{Op: api, Backend: "shim", Device: ordinal}
	switch b.calls {
	case b.failAt:
		e.Kind, e.Vendor = driver.ErrDriver, driver.Vendor{API: "shim" + api, Name: "SHIM_FAULT", Code: 1}
	case b.loseAt:
		e.Kind, e.Vendor = driver.ErrDeviceLost, driver.Vendor{API: "shim" + api, Name: "SHIM_LOST", Code: 2}
	default:
		return b.sticky
	}
	if b.bug.fault != nil {
		return b.bug.fault(b, e)
	}
	return e
}

func (b *shim) Name() string { return "shim" }

func (b *shim) Devices(ctx context.Context) ([]driver.Info, error) {
	b.lists.Add(1)
	infos, err := b.real.Devices(ctx)
	for i := range infos {
		infos[i].Caps &^= driver.CapKernels
		if b.bug.info != nil {
			infos[i] = b.bug.info(b, infos[i])
		}
	}
	if b.bug.list != nil {
		infos = b.bug.list(b, infos)
	}
	return infos, err
}

func (b *shim) Open(ctx context.Context, ordinal int) (driver.Device, error) {
	if b.bug.openFails != nil {
		if err := b.bug.openFails(b); err != nil {
			return nil, err
		}
	}
	real, err := b.real.Open(ctx, ordinal)
	if err != nil {
		return nil, err
	}
	b.open.Add(1)
	return &shimDevice{real: real, b: b}, nil
}

type shimDevice struct {
	real driver.Device
	b    *shim
	side driver.Stream // for bugs that work out of order, made on demand
	once sync.Once
	last *shimMemory
}

// aside is a stream of the device that nothing is ordered with.
func (d *shimDevice) aside() driver.Stream {
	d.once.Do(func() { d.side, _ = d.real.NewStream(driver.StreamOptions{}) })
	return d.side
}

func (d *shimDevice) fail(api string) error { return d.b.call(d.real.Info().Ordinal, api) }

func (d *shimDevice) Info() driver.Info {
	i := d.real.Info()
	i.Caps &^= driver.CapKernels // TestKernelMutants has a layer of its own
	if d.b.bug.info != nil {
		return d.b.bug.info(d.b, i)
	}
	return i
}

func (d *shimDevice) MemInfo() (free, total uint64, err error) {
	free, total, err = d.real.MemInfo()
	if d.b.bug.memInfo != nil {
		free, total = d.b.bug.memInfo(free, total)
	}
	return free, total, err
}

func (d *shimDevice) Alloc(kind driver.Kind, size, align uint64) (driver.Memory, error) {
	if err := d.fail("Alloc"); err != nil {
		return nil, err
	}
	if d.b.bug.alloc != nil {
		m, err := d.b.bug.alloc(d, kind, size, align)
		if err != nil {
			return nil, err
		}
		return m, nil
	}
	m, err := d.alloc(kind, size, align)
	if err != nil {
		return nil, err
	}
	return m, nil
}

func (d *shimDevice) alloc(kind driver.Kind, size, align uint64) (*shimMemory, error) {
	real, err := d.real.Alloc(kind, size, align)
	if err != nil {
		return nil, err
	}
	return &shimMemory{real: real, d: d, kind: kind, size: size}, nil
}

func (d *shimDevice) Register(p unsafe.Pointer, size uint64) (driver.Memory, error) {
	if err := d.fail("Register"); err != nil {
		return nil, err
	}
	if d.b.bug.register != nil {
		m, err := d.b.bug.register(d, p, size)
		if err != nil {
			return nil, err
		}
		return m, nil
	}
	real, err := d.real.(driver.Registerer).Register(p, size)
	if err != nil {
		return nil, err
	}
	return &shimMemory{real: real, d: d, kind: driver.KindHost, size: size, registered: p}, nil
}

func (d *shimDevice) NewStream(o driver.StreamOptions) (driver.Stream, error) {
	if err := d.fail("NewStream"); err != nil {
		return nil, err
	}
	real, err := d.real.NewStream(o)
	if err != nil {
		return nil, err
	}
	d.b.mu.Lock()
	d.b.streams = append(d.b.streams, real)
	d.b.mu.Unlock()
	return &shimStream{real: real, d: d}, nil
}

func (d *shimDevice) NewEvent(o driver.EventOptions) (driver.Event, error) {
	if err := d.fail("NewEvent"); err != nil {
		return nil, err
	}
	real, err := d.real.NewEvent(o)
	if err != nil {
		return nil, err
	}
	return &shimEvent{real: real, d: d}, nil
}

func (d *shimDevice) PeerAccess(other driver.Device) driver.PeerAccess {
	o, ok := other.(*shimDevice)
	if !ok {
		return 0
	}
	l := d.real.(driver.Peering).PeerAccess(o.real)
	if d.b.bug.link != nil {
		l = d.b.bug.link(l)
	}
	return l
}

func (d *shimDevice) Close() error {
	d.b.open.Add(-1)
	if d.b.bug.closeDevice != nil {
		if err := d.b.bug.closeDevice(d); err != nil {
			return err
		}
	}
	return d.real.Close()
}

// shimMemory is size bytes of the real memory from off on.
type shimMemory struct {
	real       driver.Memory
	d          *shimDevice
	kind       driver.Kind
	size, off  uint64
	borrowed   bool // the real memory is another one's
	registered unsafe.Pointer
	shadow     []byte

	registration driver.Memory // of memory that is registered and has a block of its own
	writable     bool          // as it was mapped
}

func (m *shimMemory) Size() uint64    { return m.size }
func (m *shimMemory) Handle() uintptr { return m.real.Handle() + uintptr(m.off) }

func (m *shimMemory) HostPointer() unsafe.Pointer {
	if m.d.b.bug.hostPointer != nil {
		return m.d.b.bug.hostPointer(m)
	}
	if m.NeedsMap() {
		return m.view()
	}
	return m.pointer()
}

func (m *shimMemory) pointer() unsafe.Pointer {
	if p := m.real.HostPointer(); p != nil {
		return unsafe.Add(p, m.off)
	}
	return nil
}

func (m *shimMemory) Free() error {
	err := m.d.fail("Free")
	if m.d.b.bug.free != nil {
		return m.d.b.bug.free(m)
	}
	if e := m.free(); err == nil {
		err = e
	}
	return err
}

func (m *shimMemory) free() error {
	if m.borrowed {
		return nil
	}
	if m.registration != nil {
		if err := m.registration.Free(); err != nil {
			return err
		}
	}
	if !m.d.b.bug.liesAboutDone {
		return m.real.Free()
	}
	m.d.b.mu.Lock()
	streams := append([]driver.Stream(nil), m.d.b.streams...)
	m.d.b.mu.Unlock()
	go func() {
		for _, s := range streams {
			_ = s.Sync()
		}
		_ = m.real.Free()
	}()
	return nil
}

// raw is the region of the real memory.
func raw(r driver.Region) driver.Region {
	m := r.Mem.(*shimMemory)
	return driver.Region{Mem: m.real, Off: m.off + r.Off, Len: r.Len}
}

type shimStream struct {
	real driver.Stream
	d    *shimDevice
	late atomic.Pointer[lateFault]
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

// fails reports whether work is to fail when it runs.
func (s *shimStream) fails(api string) bool {
	if !s.d.b.broken.Load() {
		return false
	}
	if !s.d.b.bug.silent {
		s.late.Store(&lateFault{err: &driver.Error{Op: api, Backend: "shim", Device: s.d.real.Info().Ordinal,
			Kind: driver.ErrDriver, Vendor: driver.Vendor{API: "shim" + api, Name: "SHIM_FAULT", Code: 1}}})
	}
	return true
}

// fault is the failure that nobody has been told of.
func (s *shimStream) fault() *lateFault {
	if f := s.late.Load(); f != nil && !f.told.Load() {
		return f
	}
	return nil
}

func (s *shimStream) Copy(dst, src driver.Region) error {
	if err := s.d.fail("Copy"); err != nil {
		return err
	}
	if s.fails("Copy") {
		return nil
	}
	if f := s.d.b.bug.copy; f != nil {
		foreign := dst.Mem.(*shimMemory).d != s.d || src.Mem.(*shimMemory).d != s.d
		return f(s, raw(dst), raw(src), foreign)
	}
	return s.real.Copy(raw(dst), raw(src))
}

func (s *shimStream) CopyIn(dst driver.Region, src unsafe.Pointer) error {
	if err := s.d.fail("CopyIn"); err != nil {
		return err
	}
	if s.fails("CopyIn") {
		return nil
	}
	if f := s.d.b.bug.copyIn; f != nil {
		return f(s, raw(dst), src)
	}
	return s.real.CopyIn(raw(dst), src)
}

func (s *shimStream) CopyOut(dst unsafe.Pointer, src driver.Region) error {
	if err := s.d.fail("CopyOut"); err != nil {
		return err
	}
	if s.fails("CopyOut") {
		return nil
	}
	if f := s.d.b.bug.copyOut; f != nil {
		return f(s, dst, raw(src))
	}
	return s.real.CopyOut(dst, raw(src))
}

func (s *shimStream) Fill(dst driver.Region, p driver.Pattern) error {
	if err := s.d.fail("Fill"); err != nil {
		return err
	}
	if s.fails("Fill") {
		return nil
	}
	if f := s.d.b.bug.fill; f != nil {
		return f(s, raw(dst), p)
	}
	return s.real.Fill(raw(dst), p)
}

func (s *shimStream) Record(e driver.Event) error {
	if err := s.d.fail("Record"); err != nil {
		return err
	}
	e.(*shimEvent).late.Store(s.fault())
	if f := s.d.b.bug.record; f != nil {
		return f(s, e.(*shimEvent))
	}
	return s.real.Record(e.(*shimEvent).real)
}

func (s *shimStream) Wait(e driver.Event) error {
	if err := s.d.fail("Wait"); err != nil {
		return err
	}
	if f := s.d.b.bug.wait; f != nil {
		return f(s, e.(*shimEvent))
	}
	return s.real.Wait(e.(*shimEvent).real)
}

func (s *shimStream) Query() (bool, error) {
	if err := s.d.fail("Query"); err != nil {
		return false, err
	}
	if f := s.d.b.bug.query; f != nil {
		return f(s)
	}
	done, err := s.real.Query()
	if done && err == nil {
		err = s.fault().tell()
	}
	return done, err
}

func (s *shimStream) Sync() error {
	err := s.d.fail("Sync")
	if f := s.d.b.bug.sync; f != nil && err == nil {
		return f(s)
	}
	if e := s.real.Sync(); err == nil {
		err = e
	}
	if err == nil {
		err = s.fault().tell()
	}
	return err
}

func (s *shimStream) Gate() (driver.Gate, error) {
	if f := s.d.b.bug.gate; f != nil {
		return f(s)
	}
	return s.real.(driver.Gater).Gate()
}

func (s *shimStream) OnDone(fn func()) error {
	if f := s.d.b.bug.call; f != nil {
		return f(s, fn)
	}
	return s.real.(driver.Notifier).OnDone(fn)
}

func (s *shimStream) AllocAsync(size, align uint64) (driver.Memory, error) {
	if err := s.d.fail("AllocAsync"); err != nil {
		return nil, err
	}
	if f := s.d.b.bug.allocAsync; f != nil {
		m, err := f(s, size, align)
		if err != nil {
			return nil, err
		}
		return m, nil
	}
	real, err := s.real.(driver.StreamAllocator).AllocAsync(size, align)
	if err != nil {
		return nil, err
	}
	return &shimMemory{real: real, d: s.d, kind: driver.KindDevice, size: size}, nil
}

func (s *shimStream) FreeAsync(m driver.Memory) error {
	return s.real.(driver.StreamAllocator).FreeAsync(m.(*shimMemory).real)
}

func (s *shimStream) Handle() uintptr { return s.real.Handle() }

func (s *shimStream) Close() error {
	err := s.d.fail("CloseStream")
	if e := s.real.Close(); err == nil {
		err = e
	}
	return err
}

type shimEvent struct {
	real     driver.Event
	d        *shimDevice
	recorded atomic.Bool
	late     atomic.Pointer[lateFault]
}

func (e *shimEvent) Query() (bool, error) {
	if err := e.d.fail("QueryEvent"); err != nil {
		return false, err
	}
	if f := e.d.b.bug.eventQuery; f != nil {
		return f(e)
	}
	done, err := e.real.Query()
	if done && err == nil {
		err = e.late.Load().tell()
	}
	return done, err
}

func (e *shimEvent) Sync() error {
	err := e.d.fail("SyncEvent")
	if f := e.d.b.bug.eventSync; f != nil && err == nil {
		return f(e)
	}
	if x := e.real.Sync(); err == nil {
		err = x
	}
	if err == nil {
		err = e.late.Load().tell()
	}
	return err
}

func (e *shimEvent) Elapsed(since driver.Event) (time.Duration, error) {
	d, err := e.real.(driver.Timer).Elapsed(since.(*shimEvent).real)
	if f := e.d.b.bug.elapsed; f != nil {
		return f(d, err)
	}
	return d, err
}

func (e *shimEvent) Close() error {
	err := e.d.fail("CloseEvent")
	if x := e.real.Close(); err == nil {
		err = x
	}
	return err
}
