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
	reportLeak(Leak{Object: object, Device: s.info.Name()})
}

// reportLeak reports the leak of another package's object to the leak handler. It does not give the object back.
func reportLeak(l Leak) {
	if fn := leakHandler.Load(); fn != nil {
		(*fn)(l)
		return
	}
	slog.Warn("halyard: never closed", "object", l.Object, "device", l.Device)
}

// lookout detects the leak of a Memory or an Event. Only that object refers to the lookout, and a runtime cleanup is attached to the
// lookout. Attaching a cleanup costs more than the rest of an allocation, so the lookout of a closed object is kept for a later object.
type lookout struct {
	of      *sentry
	cleanup runtime.Cleanup
}

// sentry points from a lookout's cleanup to the object. While the lookout is unused, both pointers are nil.
type sentry struct {
	mem   atomic.Pointer[memoryState]
	event atomic.Pointer[eventState]
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
	if e := o.event.Load(); e != nil {
		e.leaked()
	}
}

// spareLookout returns an unused lookout, or nil if there is none; s.mu is held.
func (s *deviceState) spareLookout() *lookout {
	n := len(s.lookouts) - 1
	if n < 0 {
		return nil
	}
	w := s.lookouts[n]
	s.lookouts[n] = nil
	s.lookouts = s.lookouts[:n]
	return w
}

// retire removes an object that the program has closed from its handle's list, and ends the detection of its leak.
func (s *deviceState) retire(c *child, w *lookout) {
	w.forget()
	s.mu.Lock()
	s.unlink(c)
	w = s.keepLookout(w)
	s.mu.Unlock()
	w.stop()
}

// forget makes the lookout, which may be nil, unused.
func (w *lookout) forget() {
	switch {
	case w == nil:
	case w.of.mem.Load() != nil:
		w.of.mem.Store(nil)
	default:
		w.of.event.Store(nil)
	}
}

// keepLookout keeps an unused lookout for another object. If the device has enough of them, it returns the lookout, to be stopped; else nil.
// s.mu is held.
func (s *deviceState) keepLookout(w *lookout) *lookout {
	if w == nil || len(s.lookouts) >= spareLookouts {
		return w
	}
	s.lookouts = append(s.lookouts, w)
	return nil
}

// stop detaches the cleanup of the lookout, which may be nil.
func (w *lookout) stop() {
	if w != nil {
		w.cleanup.Stop()
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

func (s *moduleState) leaked() {
	first, finish := s.handle.close()
	if !first {
		return // closed with the device
	}
	s.dev.reportLeak(s.describe())
	s.dev.strike(&s.child)
	if finish {
		s.dev.reaper.add(func() bool { return true }, func() { _ = s.finish() })
	}
}

func (e *eventState) leaked() {
	e.dev.reportLeak(e.describe())
	e.dev.strike(&e.child)
	e.dev.reaper.add(func() bool { return true }, e.release)
}

func (s *gateState) leaked() {
	s.stream.dev.reportLeak(s.describe())
	_ = s.signal()
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
		return // settle calls abandon again when the last object is closed
	}
	s.reaper.add(func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.handles) > 1 || !frees.held(s.frees)
	}, func() { go s.abandon(h) })
}
