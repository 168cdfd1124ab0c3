package life

import (
	"sync"
	"sync/atomic"
)

const closedBit = int64(1) << 62

// Handle counts the calls under way on an object and remembers that it was closed. When it is closed and the last call has left, the object
// must be finished, exactly once: an Object is then given back, or left to the Reaper.
type Handle struct{ state atomic.Int64 }

// Enter begins a call, or reports false if the handle is closed. A refused call is never counted, not even
// for a moment: otherwise the last Leave could see a count above zero, and nothing would finish the object.
func (h *Handle) Enter() bool {
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

// Stay begins another call on behalf of a caller that is already inside, whether or not the handle
// has been closed meanwhile.
func (h *Handle) Stay() { h.state.Add(1) }

// Leave ends a call and reports whether the caller must finish the object. Once the handle
// is closed only calls inside can raise the count, so it reaches zero exactly once.
func (h *Handle) Leave() (finish bool) { return h.state.Add(-1) == closedBit }

// Close marks the handle closed. first is false if it was closed before; finish means
// the same as for Leave.
func (h *Handle) Close() (first, finish bool) {
	s := h.state.Or(closedBit)
	return s&closedBit == 0, s == 0
}

// Closed reports whether Close was called.
func (h *Handle) Closed() bool { return h.state.Load()&closedBit != 0 }

// Calls is a Handle whose last Leave after Close is waited for: its calls end before what they use goes.
type Calls struct {
	Handle
	left Latch
}

// Leave ends a call.
func (c *Calls) Leave() {
	if c.state.Add(-1) == closedBit { // Handle.Leave
		c.left.Open()
	}
}

// Shut refuses new calls and waits for those under way.
func (c *Calls) Shut() {
	if _, none := c.Close(); !none {
		c.left.Wait()
	}
}

// Latch is opened once; its zero value is shut.
type Latch struct {
	mu     sync.Mutex
	opened bool
	ch     chan struct{} // nil until a goroutine waits
	fns    []func()
}

// Open opens the latch.
func (l *Latch) Open() {
	l.mu.Lock()
	l.opened = true
	fns := l.fns
	l.fns = nil
	if l.ch != nil {
		close(l.ch)
	}
	l.mu.Unlock()
	for _, fn := range fns {
		fn()
	}
}

// Opened returns a channel that is closed once the latch is open.
func (l *Latch) Opened() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ch == nil {
		l.ch = make(chan struct{})
		if l.opened {
			close(l.ch)
		}
	}
	return l.ch
}

// Wait waits until the latch is open.
func (l *Latch) Wait() { <-l.Opened() }

// Then calls fn when the latch is opened, on the goroutine that opens it, or at once if it is open.
func (l *Latch) Then(fn func()) {
	l.mu.Lock()
	opened := l.opened
	if !opened {
		l.fns = append(l.fns, fn)
	}
	l.mu.Unlock()
	if opened {
		fn()
	}
}

// Signal is a condition variable that can be waited for in a select. Every method is called with the lock held that
// guards the condition. The zero value is ready to use.
type Signal struct{ ch chan struct{} }

// Next returns a channel that is closed at the next Broadcast.
func (s *Signal) Next() <-chan struct{} {
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

// Broadcast wakes those who wait for Next.
func (s *Signal) Broadcast() {
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}
