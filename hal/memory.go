package hal

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// Memory is one allocation on a device.
type Memory struct {
	s       *memoryState
	dev     *Device
	cleanup runtime.Cleanup
}

type memoryState struct {
	handle
	child
	dev    *deviceState
	drv    driver.Memory
	kind   Kind
	size   uint64
	owned  bool // counted in the device's usage
	mapped atomic.Bool
	needs  bool // host access needs mapped
	keep   any  // host memory of a registration

	// last is the stream that used the memory last; users has every stream since the start.
	last  atomic.Pointer[streamState]
	mu    sync.Mutex
	users []*streamState
}

func newMemory(d *Device, drv driver.Memory, kind Kind, size uint64, owned bool) *Memory {
	s := &memoryState{dev: d.s, drv: drv, kind: kind, size: size, owned: owned}
	if m, ok := drv.(driver.Mapped); ok {
		s.needs = m.NeedsMap()
	}
	if owned {
		d.s.grew(size)
	}
	d.s.objects.Add(1)
	d.s.adopt(&s.child, s.describe)
	m := &Memory{s: s, dev: d}
	m.cleanup = runtime.AddCleanup(m, (*memoryState).leaked, s)
	return m
}

func (s *memoryState) describe() string {
	return fmt.Sprintf("%s memory of %d bytes", s.kind, s.size)
}

// Device is the device that the memory belongs to.
func (m *Memory) Device() *Device { return m.dev }

// Kind is the kind of memory.
func (m *Memory) Kind() Kind { return m.s.kind }

// Size is the size in bytes.
func (m *Memory) Size() uint64 { return m.s.size }

// Handle is what a kernel launch of the vendor takes: an address if the device has
// CapAddress, otherwise a cl_mem. It is 0 once the memory is closed, and must not be
// used after Close.
func (m *Memory) Handle() uintptr {
	if m.s.closed() {
		return 0
	}
	return m.s.drv.Handle()
}

// HostPointer is where the host finds the memory, or nil if it cannot touch it, the
// memory is closed, or must be mapped first ([Stream.Map]).
func (m *Memory) HostPointer() unsafe.Pointer {
	if m.s.closed() || m.s.needs && !m.s.mapped.Load() {
		return nil
	}
	return m.s.drv.HostPointer()
}

// NeedsMap reports whether the host may touch the memory only between [Stream.Map] and
// [Stream.Unmap].
func (m *Memory) NeedsMap() bool { return m.s.needs }

// Bytes is the memory as the host sees it. The slice must not be used after Close, and
// says nothing about work under way: synchronise first. Memory that the host cannot
// touch is of kind ErrUnsupported, memory that is not mapped of kind ErrNotReady.
func (m *Memory) Bytes() ([]byte, error) {
	const op = "host view"
	s := m.s
	if s.closed() {
		return nil, s.dev.failure(op, ErrClosed, "the memory is closed")
	}
	if s.needs && !s.mapped.Load() {
		return nil, s.dev.failure(op, ErrNotReady, "the memory is not mapped")
	}
	p := s.drv.HostPointer() // memory may have no address before it is mapped
	if p == nil {
		return nil, s.dev.failure(op, ErrUnsupported, "the host cannot touch %s memory of this device", s.kind)
	}
	return unsafe.Slice((*byte)(p), s.size), nil
}

// Close gives the memory back once the work that uses it has finished; it does not wait.
func (m *Memory) Close() error {
	first, finish := m.s.handle.close()
	if !first {
		return nil
	}
	m.cleanup.Stop()
	m.s.dev.disown(&m.s.child)
	if finish {
		return m.s.finish()
	}
	return nil
}

// leave ends a call that used the memory.
func (s *memoryState) leave() {
	if s.handle.leave() {
		_ = s.finish()
	}
}

// note remembers that stream t has work on the memory.
func (s *memoryState) note(t *streamState) {
	if s.last.Load() == t {
		return
	}
	s.mu.Lock()
	if !slices.Contains(s.users, t) {
		s.users = append(s.users, t)
	}
	s.last.Store(t)
	s.mu.Unlock()
}

// finish frees the memory now if nothing uses it, or hands it to the reaper.
func (s *memoryState) finish() error {
	s.mu.Lock()
	users := s.users
	s.users = nil
	s.mu.Unlock()
	var waits []func() bool
	for _, t := range users {
		if w := t.pendingWork(); w != nil {
			waits = append(waits, w)
		}
	}
	if len(waits) == 0 {
		return s.free()
	}
	s.dev.reaper.add(func() bool {
		for len(waits) > 0 && waits[0]() {
			waits = waits[1:]
		}
		return len(waits) == 0
	}, func() { _ = s.free() })
	return nil
}

func (s *memoryState) free() error {
	err := s.drv.Free()
	defer s.dev.objects.Done()
	s.keep = nil
	if s.owned {
		s.dev.held.Add(-s.size)
	}
	return s.dev.check(err)
}
