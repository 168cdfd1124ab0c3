package hal

import (
	"fmt"
	"sync"
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
	needs     bool // host access needs mapped
	freeWaits bool // as driver.FreeBlocker says
	mapped    atomic.Bool
	extra     *extra // nil if there is nothing

	exposed atomic.Pointer[exposure] // the program has its bytes
	kept    atomic.Int32             // marks that have not been passed, for which it stays

	// last is the stream that used the memory last, users are it and the others.
	last  atomic.Pointer[streamState]
	mu    sync.Mutex
	first *streamState // while it is the only one
	users *users       // nil while there is at most one
}

// origin is where memory came from.
type origin uint8

const (
	allocated origin = iota // counted in the device's usage
	registered
	imported
	shared
)

// extra is what few memories have.
type extra struct {
	keep    []byte // host memory of a registration
	release func() // of the program
	then    func() // as CloseThen
}

// told is what the program wants to be called when the memory has been given back, nil for nothing.
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

// newMemory makes a memory of the driver's an object of the device, or gives it back if the device was closed meanwhile.
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
	if n := len(dev.lookouts); admitted && n > 0 {
		w = dev.lookouts[n-1]
		dev.lookouts[n-1] = nil
		dev.lookouts = dev.lookouts[:n-1]
	}
	dev.mu.Unlock()
	if !admitted {
		_ = drv.Free()
		return nil, dev.closedError(op)
	}
	if w == nil {
		w = newLookout()
	}
	w.of.mem.Store(s)
	return &Memory{s: s, dev: d, lookout: w}, nil
}

// unwatch ends the look-out for a leak.
func (m *Memory) unwatch() {
	w, dev := m.lookout, m.s.dev
	if w == nil {
		return
	}
	m.lookout = nil
	w.of.mem.Store(nil)
	dev.mu.Lock()
	if len(dev.lookouts) < spareLookouts {
		dev.lookouts = append(dev.lookouts, w)
		w = nil
	}
	dev.mu.Unlock()
	if w != nil {
		w.cleanup.Stop()
	}
}

// state is what m is a handle on, nil for a nil or zero Memory.
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

// Device is the device that the memory belongs to.
func (m *Memory) Device() *Device {
	if m == nil {
		return nil
	}
	return m.dev
}

// Kind is the kind of memory.
func (m *Memory) Kind() Kind {
	if s := m.state(); s != nil {
		return s.kind
	}
	return 0
}

// Size is the size in bytes.
func (m *Memory) Size() uint64 {
	if s := m.state(); s != nil {
		return s.size
	}
	return 0
}

// Handle is what a kernel launch of the vendor takes: an address if the device has
// CapAddress, otherwise a cl_mem. It is 0 once the memory is closed, and must not be
// used after Close.
func (m *Memory) Handle() uintptr {
	if m.state() == nil || m.s.closed() {
		return 0
	}
	return m.s.drv.Handle()
}

// HostPointer is where the host finds the memory, or nil if it cannot touch it, the
// memory is closed, or must be mapped first ([Stream.Map]).
func (m *Memory) HostPointer() unsafe.Pointer {
	if m.state() == nil || m.s.closed() || m.s.needs && !m.s.mapped.Load() {
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

// Bytes is the memory as the host sees it. The slice must not be used after Close, nor after Unmap, and
// says nothing about work under way: synchronise first. Memory that the host cannot
// touch is of kind ErrUnsupported, memory that is not mapped of kind ErrNotReady.
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
	if s.needs && !s.mapped.Load() {
		return nil, s.dev.failure(op, ErrNotReady, "the memory is not mapped")
	}
	p := s.drv.HostPointer() // memory may have no address before it is mapped
	if p == nil {
		return nil, s.dev.failure(op, ErrUnsupported, "the host cannot touch %s memory of this device", s.kind)
	}
	s.expose(p)
	return unsafe.Slice((*byte)(p), s.size), nil
}

// Close gives the memory back once the work that uses it has finished; it does not wait. That includes copies to and
// from the host whose other end lies in the slice that Bytes gave. Of host memory that was registered, and is
// named by its own bytes, it knows nothing: wait for such copies first. What the driver itself waits for is another matter: CUDA's and
// HIP's calls may wait for other work of the device, and are not made while the program holds a [Gate] shut.
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

// CloseThen is Close, and calls given when the memory has been given back: before it returns if nothing is under way, else on a
// goroutine of its own, for which the device waits when it is closed. It does not if the memory was closed before.
func (m *Memory) CloseThen(given func()) error {
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

// close gives the memory back, or leaves that to the last call under way.
func (m *Memory) close(finish bool) error {
	m.unwatch()
	if finish && m.s.last.Load() == nil && m.s.kept.Load() == 0 && m.s.beginFree() {
		return m.s.free(true)
	}
	m.s.dev.strike(&m.s.child)
	if finish {
		return m.s.finish(true)
	}
	return nil
}

// KeepUntil tells the library that the marked work, of whatever device, uses the memory, so that closing it waits for that as well.
// The caller keeps its reference to the mark.
func (m *Memory) KeepUntil(mark *Mark) error {
	const op = "keep"
	switch {
	case m.state() == nil:
		return noMemory(op)
	case mark == nil:
		return m.s.dev.failure(op, ErrInvalidArgument, "nil mark")
	case !m.s.enter():
		return m.s.dev.failure(op, ErrClosed, "the memory is closed")
	}
	defer m.s.leave()
	if done, err := mark.Done(); done || err != nil {
		return nil // how the work ended is for its owner to find
	}
	m.s.kept.Add(1)
	mark.OnDone(func(error) { m.s.kept.Add(-1) })
	return nil
}

// leave ends a call that used the memory.
func (s *memoryState) leave() {
	if s.handle.leave() {
		_ = s.finish(false)
	}
}

// note remembers that stream t has work on the memory.
func (s *memoryState) note(t *streamState) {
	if s.last.Load() == t {
		return
	}
	s.mu.Lock()
	switch {
	case s.users != nil:
		s.users.add(t)
	case s.first == nil || s.first.gone.Load():
		s.first = t
	case s.first != t:
		s.users = &users{list: []*streamState{s.first, t}}
		s.first = nil
	}
	s.last.Store(t)
	s.mu.Unlock()
}

// finish frees the memory now if nothing uses it, or hands it to the reaper. closing says that Close
// is what calls.
func (s *memoryState) finish(closing bool) error {
	// No call can be under way, nor come.
	var streams []*streamState
	switch {
	case s.users != nil:
		streams = s.users.list
	case s.first != nil:
		streams = append(streams, s.first)
	}
	s.first, s.users = nil, nil
	s.last.Store(nil)
	var waits []func() bool
	for _, t := range streams {
		if w := t.pendingWork(); w != nil {
			waits = append(waits, w)
		}
	}
	if s.kept.Load() > 0 {
		waits = append(waits, func() bool { return s.kept.Load() == 0 })
	}
	if len(waits) == 0 && s.beginFree() {
		return s.free(closing)
	}
	return s.freeAfter(waits)
}

func (s *memoryState) freeAfter(waits []func() bool) error {
	s.reap(func() bool {
		for len(waits) > 0 && waits[0]() {
			waits = waits[1:]
		}
		return len(waits) == 0 && s.beginFree()
	}, func() { _ = s.free(false) })
	return nil
}

// reap leaves finish, which frees the memory, to the reaper.
func (s *memoryState) reap(ready func() bool, finish func()) {
	s.dev.reaper.put(reaped{ready: ready, finish: finish, slow: s.freeWaits})
}

// beginFree reports whether the memory may be freed as far as gates are concerned; free comes next then.
func (s *memoryState) beginFree() bool { return !s.freeWaits || frees.begin(s.dev.frees) }

func (s *memoryState) free(closing bool) error {
	s.hide()
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
		dev.lose() // tell may close the device
	}
	dev.mu.Unlock()
	dev.tell(tell, apart)
	return dev.check(err)
}

// tell calls what the program wants to be told with, at once if it was the owner's own call that led here, or
// else apart, where the device waits for it.
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
