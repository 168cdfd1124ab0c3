package hal

import (
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// Memory is one allocation on a device.
type Memory struct {
	s       *memoryState
	dev     *Device
	lookout *lookout // nil once it is closed
}

type memoryState struct {
	handle
	child
	dev       *deviceState
	drv       driver.Memory
	size      uint64
	kind      Kind
	origin    origin
	needs     bool          // the host may touch it only while it is mapped
	freeWaits bool          // FreeMayBlock of driver.FreeBlocker
	mapped    atomic.Uint32 // a mapping
	extra     *extra        // nil if there is nothing

	view atomic.Pointer[view] // set while the program may hold a slice that Bytes returned
	kept atomic.Int32         // unfinished events given to KeepUntil

	usedBy
}

// origin is where memory came from.
type origin uint8

const (
	allocated origin = iota // counted in the device's usage
	registered
	imported
	shared // by another process
)

// extra holds fields that few memories need.
type extra struct {
	keep    []byte // registered host memory, kept reachable
	release func() // ExternalMemory.Release
	then    func() // given to CloseThen
}

// told returns the function to call when the memory has been given back, or nil.
func (x *extra) told() func() {
	switch {
	case x == nil:
		return nil
	case x.release == nil:
		return x.then
	case x.then == nil:
		return x.release
	}
	return func() { x.release(); x.then() }
}

// newMemory adds a driver's memory to the device, or frees it if the device was closed meanwhile.
func newMemory(d *Device, op string, drv driver.Memory, kind Kind, size uint64, from origin, x *extra) (*Memory, error) {
	s := &memoryState{dev: d.s, drv: drv, kind: kind, size: size, origin: from, extra: x}
	if m, ok := drv.(driver.NeedsMapper); ok {
		s.needs = m.NeedsMap()
	}
	if m, ok := drv.(driver.FreeBlocker); ok {
		if s.freeWaits = m.FreeMayBlock(); s.freeWaits {
			d.s.closeWaits.Store(true)
		}
	}
	var w *lookout
	dev := d.s
	dev.mu.Lock()
	admitted := d.admit(&s.child, s)
	if admitted && from == allocated {
		dev.held += size
		dev.peak = max(dev.peak, dev.held)
		dev.total++
	}
	if admitted {
		w = dev.spareLookout()
	}
	dev.mu.Unlock()
	if !admitted {
		dev.giveBack(s.freeWaits, func() { _ = drv.Free() }) // Device.Close waits for this call, and then for the reaper
		return nil, dev.closedError(op)
	}
	if w == nil {
		w = newLookout()
	}
	w.of.mem.Store(s)
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

func (s *memoryState) describe() string {
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
	if m.state() == nil || m.s.closed() {
		return 0
	}
	return m.s.drv.Handle()
}

// HostPointer returns the memory's address on the host. It is nil if the host cannot
// access the memory, if the memory is closed or has 0 bytes, or if it must be mapped first ([Stream.Map]).
func (m *Memory) HostPointer() unsafe.Pointer {
	if m.state() == nil || m.s.closed() || m.s.needs && m.s.mapped.Load() == unmapped {
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
	if !s.enter() {
		return nil, s.dev.failure(op, ErrClosed, "the memory is closed")
	}
	defer s.leave()
	if s.needs && s.mapped.Load() == unmapped {
		return nil, s.dev.failure(op, ErrNotReady, "the memory is not mapped")
	}
	if s.size == 0 {
		return []byte{}, nil
	}
	p := s.drv.HostPointer() // not earlier: memory may have no address before it is mapped
	if p == nil {
		return nil, s.dev.failure(op, ErrUnsupported, "%s memory of this device is not accessible from the host", s.kind)
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
	first, finish := m.s.handle.close()
	if !first {
		return nil
	}
	return m.close(finish)
}

// closeThen closes the memory like Close, and calls given when the memory has been freed: before it returns if no work is
// under way, else on a new goroutine, for which Device.Close waits. If the memory was already closed, given is not called.
func (m *Memory) closeThen(given func()) error {
	if m.state() == nil {
		return noMemory("close")
	}
	if !m.s.enter() {
		return nil
	}
	if first, _ := m.s.handle.close(); !first {
		m.s.leave()
		return nil
	}
	if m.s.extra == nil {
		m.s.extra = &extra{}
	}
	m.s.extra.then = given
	return m.close(m.s.handle.leave())
}

// close frees the memory if nothing uses it. Otherwise the last call under way, or the reaper, frees it.
func (m *Memory) close(finish bool) error {
	w := m.lookout
	m.lookout = nil
	if finish && m.s.last.Load() == nil && m.s.kept.Load() == 0 && m.s.beginFree() {
		w.forget()
		return m.s.free(true, w)
	}
	m.s.dev.retire(&m.s.child, w)
	if finish {
		return m.s.finish(true)
	}
	return nil
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
	if !m.s.enter() {
		return m.s.dev.failure(op, ErrClosed, "the memory is closed")
	}
	defer m.s.leave()
	if done, _ := es.done(); done {
		return nil // the event's owner looks at the error
	}
	m.s.kept.Add(1)
	es.onDone(func(error) { m.s.kept.Add(-1) })
	return nil
}

// leave ends a call that used the memory.
func (s *memoryState) leave() {
	if s.handle.leave() {
		_ = s.finish(false)
	}
}

// finish frees the memory now if no work uses it, or hands it to the reaper. closing says that the caller is
// Close.
func (s *memoryState) finish(closing bool) error {
	pending := s.over() // the memory is closed and no call is under way
	if pending == nil && s.kept.Load() == 0 && s.beginFree() {
		return s.free(closing, nil)
	}
	s.reap(func() bool {
		if pending != nil && !pending() {
			return false
		}
		pending = nil
		return s.kept.Load() == 0 && s.beginFree()
	}, func() { _ = s.free(false, nil) })
	return nil
}

// reap hands the memory to the reaper, which calls finish to free it once ready returns true.
func (s *memoryState) reap(ready func() bool, finish func()) {
	s.dev.reaper.put(reaped{ready: ready, finish: finish, slow: s.freeWaits})
}

// beginFree reports whether the memory may be freed now. It returns false while freeing could block on a gate. After true the caller
// must call free.
func (s *memoryState) beginFree() bool { return !s.freeWaits || frees.begin(s.dev.frees) }

// free gives the memory back. It keeps w, the unused lookout of the memory, unless it is nil.
func (s *memoryState) free(closing bool, w *lookout) error {
	s.hideBytes()
	err := s.drv.Free()
	if s.freeWaits {
		frees.end()
	}
	tell := s.extra.told()
	s.extra = nil
	dev := s.dev
	dev.mu.Lock()
	dev.unlink(&s.child)
	if s.origin == allocated {
		dev.held -= s.size
	}
	apart := tell != nil && !closing
	if !apart {
		dev.lose() // before tell, which may close the device
	}
	w = dev.keepLookout(w)
	dev.mu.Unlock()
	w.stop()
	dev.tell(tell, apart)
	return dev.check(err)
}

// tell calls fn, a function of the program, unless it is nil. If apart is true, fn runs on a new goroutine, and closing the device
// waits for it.
func (s *deviceState) tell(fn func(), apart bool) {
	switch {
	case fn == nil:
	case apart:
		s.reaper.apart(func() {
			defer s.gave()
			fn()
		})
	default:
		fn()
	}
}
