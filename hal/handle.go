package hal

import "sync/atomic"

const closedBit = int64(1) << 62

// handle counts the calls under way on an object and remembers that it was closed.
// When it is closed and the last call has left, finish must run, exactly once.
type handle struct{ state atomic.Int64 }

// enter begins a call, or reports false if the handle is closed. A refused call is never counted, not even
// for a moment: otherwise the last leave could see a count above zero, and nothing would finish the object.
func (h *handle) enter() bool {
	for {
		s := h.state.Load()
		if s&closedBit != 0 {
			return false
		}
		if h.state.CompareAndSwap(s, s+1) {
			return true
		}
	}
}

// stay begins another call on behalf of a caller that is already inside, whether or not the handle
// has been closed meanwhile.
func (h *handle) stay() { h.state.Add(1) }

// leave ends a call and reports whether the caller must finish the object. Once the handle
// is closed only calls inside can raise the count, so it reaches zero exactly once.
func (h *handle) leave() (finish bool) { return h.state.Add(-1) == closedBit }

// close marks the handle closed. first is false if it was closed before; finish means
// the same as for leave.
func (h *handle) close() (first, finish bool) {
	s := h.state.Or(closedBit)
	return s&closedBit == 0, s == 0
}

func (h *handle) closed() bool { return h.state.Load()&closedBit != 0 }
