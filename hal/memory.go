package hal

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/hal/internal/life"
)

// Memory is one allocation on a device.
type Memory struct {
	s       *memoryState
	dev     *Device
	lookout *life.Lookout
}

type memoryState struct {
	life.Object
	life.Uses
	dev    *deviceState
	drv    driver.Memory
	size   uint64
	kind   Kind
	origin origin
	needs  bool           // the host may touch it only while it is mapped
	mapped atomic.Uint32  // a mapping
	keep   unsafe.Pointer // registered host memory, kept reachable

	view atomic.Pointer[view] // set while the program may hold a slice that Bytes returned
	kept atomic.Int32         // unfinished events given to keepUntil
}

// origin is where memory came from.
type origin uint8

const (
	allocated origin = iota // counted in the device's usage
	registered
	imported
	shared // by another process
)

// newMemory adds a driver's memory to the device, or frees it if the device was closed meanwhile.
func newMemory(d *Device, op string, s *memoryState) (*Memory, error) {
	s.dev = d.s
	if m, ok := s.drv.(driver.NeedsMapper); ok {
		s.needs = m.NeedsMap()
	}
	if m, ok := s.drv.(driver.FreeBlocker); ok {
		if s.MayBlock = m.FreeMayBlock(); s.MayBlock {
			d.s.closeWaits.Store(true)
		}
	}
	if s.origin == allocated {
		s.Count(s.size)
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

// Describe implements life.Thing.
func (s *memoryState) Describe() string {
	text := fmt.Sprintf("%s memory of %d bytes", s.kind, s.size)
	switch s.origin {
	case imported:
		return "imported " + text
	case shared:
		return "shared " + text
	}
	return text
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
		return s.size
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
// access the memory, if the memory is closed or has 0 bytes, or if it must be mapped first ([Stream.Map]).
func (m *Memory) HostPointer() unsafe.Pointer {
	if m.state() == nil || m.s.Closed() || m.s.needs && m.s.mapped.Load() == unmapped {
		return nil
	}
	return m.s.drv.HostPointer()
}

// NeedsMap reports whether the host may touch the memory only between [Stream.Map] and
// [Stream.Unmap].
func (m *Memory) NeedsMap() bool {
	s := m.state()
	return s != nil && s.needs
}

// Bytes returns the memory as a slice on the host. The slice must not be used after Close or
// Unmap. Bytes does not wait for work under way: synchronise first. The error is of kind
// ErrUnsupported if the host cannot access the memory, ErrNotReady if it is not mapped. Memory of 0 bytes always
// has a slice.
func (m *Memory) Bytes() ([]byte, error) {
	const op = "host view"
	s := m.state()
	if s == nil {
		return nil, noMemory(op)
	}
	if !s.Enter() {
		return nil, s.dev.Failure(op, ErrClosed, "the memory is closed")
	}
	defer s.Leave()
	if s.needs && s.mapped.Load() == unmapped {
		return nil, s.dev.Failure(op, ErrNotReady, "the memory is not mapped")
	}
	if s.size == 0 {
		return []byte{}, nil
	}
	p := s.drv.HostPointer() // not earlier: memory may have no address before it is mapped
	if p == nil {
		return nil, s.dev.Failure(op, ErrUnsupported, "%s memory of this device is not accessible from the host", s.kind)
	}
	s.showBytes(p)
	return unsafe.Slice((*byte)(p), s.size), nil
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

// keepUntil tells the library that the event's work, on any device, uses the memory: after Close the memory is not freed
// before that work has finished. The caller keeps its reference to the event.
func (m *Memory) keepUntil(e *Event) error {
	const op = "keep"
	if m.state() == nil {
		return noMemory(op)
	}
	es, err := e.begin(op)
	if err != nil {
		return err
	}
	defer e.end()
	if !m.s.Enter() {
		return m.s.dev.Failure(op, ErrClosed, "the memory is closed")
	}
	defer m.s.Leave()
	if done, _ := es.Done(); done {
		return nil // the event's owner looks at the error
	}
	m.s.kept.Add(1)
	es.OnDone(func(error) { m.s.kept.Add(-1) })
	return nil
}

// Pending implements life.Vendored.
func (s *memoryState) Pending() func() bool {
	over := s.Over()
	if over == nil && s.kept.Load() == 0 {
		return nil
	}
	return func() bool { return (over == nil || over()) && s.kept.Load() == 0 }
}

// GiveBack implements life.Vendored.
func (s *memoryState) GiveBack() error {
	s.hideBytes()
	return s.dev.Check(s.drv.Free())
}
