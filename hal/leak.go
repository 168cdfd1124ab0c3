package hal

import (
	"log/slog"
	"runtime"
	"sync/atomic"
)

// Leak describes an object that became unreachable without having been closed. It has been given
// back all the same, as soon as the work that used it was done.
type Leak struct {
	Object string // "device memory of 4096 bytes", "stream", ...
	Device string // "cuda:0"
}

var leakHandler atomic.Pointer[func(Leak)]

// SetLeakHandler sets what is told of leaks, and returns what was set before. The default, nil,
// logs a warning through log/slog. The handler is called by the runtime's cleanup goroutine
// and must not block.
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

// ReportLeak reports an object of another package as this one does its own, and gives nothing back.
func ReportLeak(l Leak) {
	if fn := leakHandler.Load(); fn != nil {
		(*fn)(l)
		return
	}
	slog.Warn("halyard: never closed", "object", l.Object, "device", l.Device)
}

// lookout is reachable only through the Memory that has it, and goes with it. The runtime is asked once to look out for it, which
// costs more than all else of an allocation: a Memory that is closed leaves its lookout to another.
type lookout struct {
	of      *sentry
	cleanup runtime.Cleanup
}

// sentry says whose lookout it is.
type sentry struct {
	mem atomic.Pointer[memoryState] // nil for nobody's
}

// spareLookouts is how many lookouts a device keeps that are nobody's.
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

// The leaked methods run on the runtime's cleanup goroutine: the vendor's calls are left to
// the reaper, where they hold nothing up.

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

// abandon closes a handle that nobody holds, after the last of its objects, or once gates let it.
func (s *deviceState) abandon(h *holder) {
	if err := s.close(h); err == nil || h.closed.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inUse(h, len(s.handles) == 1) {
		return // what is in use comes back here
	}
	s.reaper.add(func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.handles) > 1 || !frees.held(s.frees)
	}, func() { go s.abandon(h) })
}
