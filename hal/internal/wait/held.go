package wait

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// held keeps the host memory of a stream's copies reachable until they have finished. Its zero value is ready to use.
type held struct {
	some  atomic.Bool // whether there are pointers
	mu    sync.Mutex
	seq   uint64 // number of the next pointer
	ptrs  []unsafe.Pointer
	bytes uint64 // added since the stream was last asked whether it is idle
	asked int    // pointers held at that time

	// A stream may never be idle. So, when it is asked and is busy, Keep records an event: once its work has finished, the pointers before
	// upTo are forgotten.
	event *Event // nil if there is none
	upTo  uint64
}

// Keep keeps n bytes of host memory at p reachable until the work enqueued so far has finished. It is called after the copy that uses
// them was enqueued: a goroutine that finds the stream idle lets go of everything kept before.
func (s *Stream) Keep(p unsafe.Pointer, n uint64) {
	h := &s.held
	h.mu.Lock()
	if len(h.ptrs)-h.asked >= heldMany || h.bytes >= heldBytes {
		h.bytes = 0
		if s.Idle() {
			h.forget(h.seq)
		} else {
			h.advance(s)
		}
		h.asked = len(h.ptrs)
	}
	h.ptrs = append(h.ptrs, p)
	if len(h.ptrs) == 1 {
		h.some.Store(true)
	}
	h.bytes += n
	h.seq++
	h.mu.Unlock()
}

// mark returns a mark for drop.
func (h *held) mark() uint64 {
	if !h.some.Load() {
		return 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.seq
}

// drop forgets the pointers added before the mark.
func (h *held) drop(mark uint64) {
	if mark == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.forget(mark) {
		h.asked, h.bytes = 0, 0
	}
	h.some.Store(len(h.ptrs) > 0)
}

// forget is drop with h.mu held, and leaves some to the caller. It reports whether there were such pointers.
func (h *held) forget(mark uint64) bool {
	if h.event != nil && h.upTo <= mark {
		h.event.Release()
		h.event = nil
	}
	first := h.seq - uint64(len(h.ptrs))
	if mark <= first {
		return false
	}
	n := copy(h.ptrs, h.ptrs[mark-first:])
	clear(h.ptrs[n:])
	h.ptrs = h.ptrs[:n]
	return true
}

// advance forgets the pointers before the event if its work has finished, and records the next one; h.mu is held. The pointers in h were
// added after their copies had been enqueued, so the event comes after these copies.
func (h *held) advance(s *Stream) {
	if h.event != nil {
		if done, _ := h.event.Done(); !done { // the stream reports the error
			return
		}
		h.forget(h.upTo)
	}
	if e, err := s.Event(false); err == nil {
		h.event, h.upTo = e, h.seq
	}
}

const (
	heldMany  = 64      // pointers after which Keep asks whether the stream is idle
	heldBytes = 1 << 20 // bytes after which Keep asks
)
