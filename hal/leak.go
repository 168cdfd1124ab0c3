package hal

import (
	"log/slog"
	"runtime"
	"sync/atomic"
)

// Leak describes an object that became unreachable without having been closed. The library gives it
// back nevertheless, once the work that uses it has finished.
type Leak struct {
	Object string // "device memory of 4096 bytes", "stream", ...
	Device string // "cuda:0"
}

var leakHandler atomic.Pointer[func(Leak)]

// SetLeakHandler sets the function that is called for each leak, and returns the previous one. The
// default, nil, logs a warning through log/slog. The handler runs on the runtime's cleanup
// goroutine and must not block.
func SetLeakHandler(fn func(Leak)) (previous func(Leak)) {
	var old *func(Leak)
	if fn == nil {
		old = leakHandler.Swap(nil)
	} else {
		old = leakHandler.Swap(&fn)
	}
	if old == nil {
		return nil
	}
	return *old
}

func (s *deviceState) reportLeak(object string) {
	ReportLeak(Leak{Object: object, Device: s.info.Name()})
}

// ReportLeak reports the leak of another package's object to the leak handler. It does not give the object back.
func ReportLeak(l Leak) {
	if fn := leakHandler.Load(); fn != nil {
		(*fn)(l)
		return
	}
	slog.Warn("halyard: never closed", "object", l.Object, "device", l.Device)
}

// lookout detects the leak of a Memory: only that Memory refers to it, and a runtime cleanup is attached to it. Attaching a
// cleanup costs more than the rest of an allocation, so a Memory that is closed leaves its lookout to the next one.
type lookout struct {
	of      *sentry
	cleanup runtime.Cleanup
}

// sentry points from a lookout's cleanup to the memory.
type sentry struct {
	mem atomic.Pointer[memoryState] // nil while the lookout is unused
}

// spareLookouts is the number of unused lookouts that a device keeps.
const spareLookouts = 256

func newLookout() *lookout {
	w := &lookout{of: new(sentry)}
	w.cleanup = runtime.AddCleanup(w, (*sentry).leaked, w.of)
	return w
}

func (o *sentry) leaked() {
	if s := o.mem.Load(); s != nil {
		s.leaked()
	}
}

// The leaked methods run on the runtime's cleanup goroutine, which must not block: the reaper
// makes the vendor's calls.

func (s *memoryState) leaked() {
	s.dev.reportLeak(s.describe())
	s.dev.strike(&s.child)
	if first, finish := s.handle.close(); first && finish {
		s.reap(func() bool { return true }, func() { _ = s.finish(false) })
	}
}

func (st *streamState) leaked() {
	st.dev.reportLeak(st.describe())
	st.dev.strike(&st.child)
	if first, finish := st.handle.close(); first && finish {
		st.dev.reaper.add(func() bool { return true }, func() { _ = st.finish(false) })
	} else if first {
		st.dev.reaper.await(&st.left)
	}
}

func (s *eventState) leaked() {
	s.dev.reportLeak("event")
	s.dev.strike(&s.child)
	s.dev.reaper.add(func() bool { return true }, s.close)
}

func (s *gateState) leaked() {
	s.dev.reportLeak("gate that is shut")
	_ = s.open()
}

func (h *holder) leaked() {
	s := h.dev
	s.mu.Lock()
	if h.closed.Load() {
		s.mu.Unlock()
		return
	}
	h.abandoned, s.abandoned = true, true
	s.settle(h)
	s.mu.Unlock()
	s.reportLeak("device")
}

// abandon closes an unreachable handle, once its last object is closed and no gate forbids it.
func (s *deviceState) abandon(h *holder) {
	if err := s.close(h); err == nil || h.closed.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inUse(h, len(s.handles) == 1) {
		return // unlink calls abandon again when the last object is closed
	}
	s.reaper.add(func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.handles) > 1 || !frees.held(s.frees)
	}, func() { go s.abandon(h) })
}
