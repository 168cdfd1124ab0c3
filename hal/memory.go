package hal

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/hal/internal/life"
	"github.com/go-halyard/halyard/internal/span"
)

// Memory is one allocation on a device.
type Memory struct {
	s       *memoryState
	dev     *Device
	lookout *life.Lookout
}

type memoryState struct {
	life.Object // how it opens and closes
	life.Uses   // the streams whose work uses it: Note
	dev         *deviceState
	drv         driver.Memory
	kind        Kind
	origin      origin
	keep        unsafe.Pointer // registered host memory, kept reachable

	view    atomic.Pointer[view] // set while the program may hold a slice that Bytes returned
	pending atomic.Int32         // unfinished events given to keepUntil
}

// origin is where memory came from.
type origin uint8

const (
	allocated origin = iota // counted in the device's usage
	registered
	imported
	shared // by another process
)

// Alloc allocates size bytes of memory of the given kind, aligned to align bytes (a power
// of two; 0 means Info.Alignment). The contents are unspecified. Memory of 0 bytes has handle 0 and takes
// nothing of the device, but has to be closed as well. When the device is out of
// memory, Alloc frees closed memory whose last use has finished and tries once more; if
// that fails too, the error is of kind ErrOutOfMemory and carries a Shortage.
func (d *Device) Alloc(kind Kind, size, align uint64) (*Memory, error) {
	const op = "alloc"
	s := d.state()
	if err := d.begin(op); err != nil {
		return nil, err
	}
	defer d.end()
	return d.alloc(op, kind, size, align, func() (driver.Memory, error) {
		freed := s.Reaper.Count()
		drv, err := s.Drv.Alloc(kind, size, align)
		if err != nil && isKind(err, ErrOutOfMemory) && s.collect(freed) {
			drv, err = s.Drv.Alloc(kind, size, align)
		}
		return drv, err
	})
}

// alloc checks the arguments of an allocation and makes it with a driver's call.
func (d *Device) alloc(op string, kind Kind, size, align uint64, make func() (driver.Memory, error)) (*Memory, error) {
	s, info := d.s, &d.s.Info
	switch {
	case kind != KindDevice && kind != KindHost && kind != KindShared:
		return nil, s.Failure(op, ErrInvalidArgument, "invalid memory kind %v", kind)
	case align&(align-1) != 0:
		return nil, s.Failure(op, ErrInvalidArgument, "alignment %d is not a power of two", align)
	case info.MaxAlign != 0 && align > info.MaxAlign:
		return nil, s.Failure(op, ErrMisaligned, "alignment %d exceeds the device's maximum of %d", align, info.MaxAlign)
	case kind == KindShared && !info.Caps.Has(CapShared):
		return nil, s.Failure(op, ErrUnsupported, "shared memory is not supported")
	case info.MaxAlloc != 0 && size > info.MaxAlloc:
		return nil, s.shortage(op, kind, size, fmt.Sprintf("a single allocation is limited to %d bytes", info.MaxAlloc), nil)
	case size == 0:
		return newMemory(d, op, 0, &memoryState{drv: noBytes{}, kind: kind})
	}
	drv, err := make()
	switch {
	case err == nil:
		return newMemory(d, op, size, &memoryState{drv: drv, kind: kind})
	case isKind(err, ErrOutOfMemory):
		return nil, s.shortage(op, kind, size, "", err)
	}
	return nil, s.Check(err)
}

// Register makes existing host memory page-locked and usable by the device, as memory
// of KindHost. The Memory keeps the slice reachable until it is
// closed. The error is of kind ErrBusy if the range overlaps a registered one, and of
// kind ErrUnsupported on a device without CapRegister.
func (d *Device) Register(b []byte) (*Memory, error) {
	const op = "register"
	if err := d.begin(op); err != nil {
		return nil, err
	}
	defer d.end()
	r, ok := d.s.Drv.(driver.Registerer)
	if !ok || !d.s.Info.Caps.Has(CapRegister) {
		return nil, d.s.Failure(op, ErrUnsupported, "registering host memory is not supported")
	}
	if len(b) == 0 {
		return newMemory(d, op, 0, &memoryState{drv: noBytes{}, kind: KindHost, origin: registered})
	}
	drv, err := r.Register(unsafe.Pointer(unsafe.SliceData(b)), uint64(len(b)))
	if err != nil {
		return nil, d.s.Check(err)
	}
	m := &memoryState{drv: drv, kind: KindHost, origin: registered, keep: unsafe.Pointer(unsafe.SliceData(b))}
	return newMemory(d, op, uint64(len(b)), m)
}

// newMemory adds a driver's memory to the device, or frees it if the device was closed meanwhile.
func newMemory(d *Device, op string, size uint64, s *memoryState) (*Memory, error) {
	s.dev, s.Size, s.Allocated = d.s, size, s.origin == allocated
	if m, ok := s.drv.(driver.FreeBlocker); ok {
		if s.MayBlock = m.FreeMayBlock(); s.MayBlock {
			d.s.closeWaits.Store(true)
		}
	}
	w, ok := d.h.Admit(&s.Object, s)
	if !ok {
		return nil, d.s.closedError(op)
	}
	return &Memory{s: s, dev: d, lookout: w}, nil
}

// noBytes is the driver's part of memory of 0 bytes, for which no driver is asked.
type noBytes struct{}

func (noBytes) Size() uint64                { return 0 }
func (noBytes) Handle() uintptr             { return 0 }
func (noBytes) HostPointer() unsafe.Pointer { return nil }
func (noBytes) Free() error                 { return nil }

// state returns the memory behind m, nil for a nil or zero Memory.
func (m *Memory) state() *memoryState {
	if m == nil {
		return nil
	}
	return m.s
}

// noMemory is the error of a call on, or with, a nil or zero Memory.
func noMemory(op string) error { return Errorf(op, ErrInvalidArgument, "nil or zero memory") }

// enter begins a call on the memory; leave ends it.
func (m *Memory) enter(op string) (*memoryState, error) {
	s := m.state()
	if s == nil {
		return nil, noMemory(op)
	}
	if !s.Enter() {
		return nil, s.dev.Failure(op, ErrClosed, "the memory is closed")
	}
	return s, nil
}

// leave ends a call, until which m is reachable, so that the collector does not close it.
func (m *Memory) leave() {
	m.s.Leave()
	runtime.KeepAlive(m)
}

// Describe implements life.Thing.
func (s *memoryState) Describe() string {
	text := fmt.Sprintf("%s memory of %d bytes", s.kind, s.Size)
	switch s.origin {
	case imported:
		return "imported " + text
	case shared:
		return "shared " + text
	}
	return text
}

// String says the kind and size of the memory, and which device it belongs to.
func (m *Memory) String() string {
	if s := m.state(); s != nil {
		return s.dev.on(s)
	}
	return "no memory"
}

// Device returns the handle through which the memory was made.
func (m *Memory) Device() *Device {
	if m == nil {
		return nil
	}
	return m.dev
}

// Kind returns the kind of memory.
func (m *Memory) Kind() Kind {
	if s := m.state(); s != nil {
		return s.kind
	}
	return 0
}

// Size returns the size in bytes.
func (m *Memory) Size() uint64 {
	if s := m.state(); s != nil {
		return s.Size
	}
	return 0
}

// Handle returns the value to pass to the vendor's kernel launches: an address if the
// device has CapAddress, otherwise a cl_mem. The value must not be used after Close.
// Handle returns 0 once the memory is closed, and for memory of 0 bytes.
func (m *Memory) Handle() uintptr {
	if m.state() == nil || m.s.Closed() {
		return 0
	}
	return m.s.drv.Handle()
}

// HostPointer returns the memory's address on the host. It is nil if the host cannot
// access the memory, and if the memory is closed or has 0 bytes.
func (m *Memory) HostPointer() unsafe.Pointer {
	if m.state() == nil || m.s.Closed() {
		return nil
	}
	return m.s.drv.HostPointer()
}

// Bytes returns the memory as a slice on the host. The slice must not be used after Close. Bytes does not wait for work under way:
// synchronise first. The error is of kind ErrUnsupported if the host cannot access the memory. Memory of 0 bytes always has a slice.
func (m *Memory) Bytes() ([]byte, error) {
	const op = "host view"
	s, err := m.enter(op)
	if err != nil {
		return nil, err
	}
	defer m.leave()
	if s.Size == 0 {
		return []byte{}, nil
	}
	p := s.drv.HostPointer()
	if p == nil {
		return nil, s.dev.Failure(op, ErrUnsupported, "%s memory of this device is not accessible from the host", s.kind)
	}
	s.showBytes(p)
	return unsafe.Slice((*byte)(p), s.Size), nil
}

// Close closes the memory and does not wait: the memory is freed once the work that uses it has finished. Such work includes
// copies whose host side lies in the slice from Bytes. It does not include copies whose host side is the slice that was
// given to [Device.Register]: wait for those before Close. On CUDA and HIP the driver's free may block until other work of
// the device is done; while the program holds a [Gate] shut, such frees are postponed.
func (m *Memory) Close() error {
	if m.state() == nil {
		return noMemory("close")
	}
	return m.s.Close(&m.lookout)
}

// closeThen closes the memory like Close, and calls given when the memory has been freed: before it returns if no work is
// under way, else on a new goroutine, for which Device.Close waits. If the memory was already closed, given is not called.
func (m *Memory) closeThen(given func()) error {
	if m.state() == nil {
		return noMemory("close")
	}
	if !m.s.Enter() {
		return nil
	}
	return m.s.CloseThen(&m.lookout, given)
}

// Pending implements life.Vendored.
func (s *memoryState) Pending() func() bool {
	over := s.Over()
	if over == nil && s.pending.Load() == 0 {
		return nil
	}
	return func() bool { return (over == nil || over()) && s.pending.Load() == 0 }
}

// GiveBack implements life.Vendored.
func (s *memoryState) GiveBack() error {
	s.hideBytes()
	return s.dev.Check(s.drv.Free())
}

func (s *deviceState) shortage(op string, kind Kind, size uint64, detail string, cause error) error {
	e := &Error{Op: op, Backend: s.Info.Backend, Device: s.Info.Ordinal, Kind: ErrOutOfMemory, Detail: detail}
	e.Shortage = &driver.Shortage{Request: size, Kind: kind, Held: s.Owner.Usage().Held}
	if s.Info.Caps.Has(CapMemInfo) {
		if free, total, err := s.Drv.MemInfo(); err == nil {
			e.Shortage.Free, e.Shortage.Total, e.Shortage.FreeKnown = free, total, true
		}
	}
	if v, ok := cause.(*Error); ok {
		e.Vendor = v.Vendor
		if e.Detail == "" {
			e.Detail = v.Detail
		}
	} else {
		e.Err = cause
	}
	return e
}

// seen has the memories whose bytes the program has seen (Memory.Bytes). The host side of a copy may lie in such a memory, and the copy
// then counts as a use of the memory, although only an address says so. While no bytes have been seen, a copy pays one atomic load.
var seen struct {
	any  atomic.Bool // the tree is not empty
	mu   sync.Mutex  // guards tree
	tree span.Tree[*view]
}

// view is the addresses [Lo, Hi) of a memory whose bytes the program has seen.
type view struct {
	span.Node[*view]
	mem    *memoryState
	ended  atomic.Bool // hideBytes has removed it
	shared atomic.Bool // another view has, or had, some of the addresses: a program may import memory twice
}

// alone reports whether all of [lo, hi) lies in this view, and in no other.
func (v *view) alone(lo, hi uint64) bool {
	return v.Lo <= lo && hi <= v.Hi && !v.shared.Load() && !v.ended.Load()
}

// showBytes notes that the program sees the memory's bytes, which begin at p. The caller has entered the memory, so that it is not freed
// meanwhile.
func (s *memoryState) showBytes(p unsafe.Pointer) {
	if s.view.Load() != nil {
		return
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	if s.view.Load() != nil {
		return
	}
	v := &view{mem: s}
	v.Lo, v.Hi, v.Value = uint64(uintptr(p)), uint64(uintptr(p))+s.Size, v
	for _, n := range seen.tree.Meeting(v.Lo, v.Hi, nil) {
		n.Value.shared.Store(true)
		v.shared.Store(true)
	}
	seen.tree.Insert(&v.Node)
	seen.any.Store(true)
	s.view.Store(v)
}

// hideBytes notes that the program sees the memory's bytes no longer. It is called before their addresses can be used for other memory.
func (s *memoryState) hideBytes() {
	if s.view.Load() == nil {
		return
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	if v := s.view.Swap(nil); v != nil {
		v.ended.Store(true)
		seen.tree.Delete(&v.Node)
		seen.any.Store(seen.tree.Len() > 0)
	}
}
