package cudahip

import (
	"sync"
	"sync/atomic"

	"github.com/go-halyard/halyard/hal/driver"
)

// hostCalls holds the host functions of a device's streams that have not been called yet. When the
// device is lost, the vendor does not call them any more, and abandon cancels them.
type hostCalls struct {
	mu   sync.Mutex
	open map[*hostCall]struct{}
}

// passed counts the host functions that have returned and the gates that were opened, on all devices. Streams wait for each
// other in the vendor's library, even across devices. Go's memory model knows nothing of those waits, so this counter orders
// memory instead: a goroutine that reads it sees what each counted function wrote, and what was written before each counted
// gate was opened.
var passed atomic.Uint64

// hostCall is one host function. It is taken once: when the vendor calls it, or when it is
// cancelled.
type hostCall struct {
	stream *Stream
	fn     func()
	lost   func() // called instead of fn if the call is cancelled, or nil

	taken atomic.Bool
	id    uintptr // under hostCalls.mu; 0 until the call has been enqueued
}

// observe reads passed. Afterwards the calling goroutine sees the writes that passed orders.
func (c *hostCalls) observe() { passed.Load() }

// enqueue enqueues a call of fn, which a thread of the vendor's library makes. If the call is
// cancelled, lost is called instead, on its own goroutine. If enqueue returns an error, neither is
// called.
func (c *hostCalls) enqueue(s *Stream, fn, lost func()) Code {
	h := &hostCall{stream: s, fn: fn, lost: lost}
	c.mu.Lock()
	if c.open == nil {
		c.open = make(map[*hostCall]struct{})
	}
	c.open[h] = struct{}{}
	c.mu.Unlock()

	// The vendor may call the function before HostCall returns.
	id, code := s.api.HostCall(s.ctx, s.handle, func() { c.run(h) })

	c.mu.Lock()
	h.id = id
	if code != Success {
		delete(c.open, h)
		if !h.taken.CompareAndSwap(false, true) && lost != nil {
			code = Success // abandon has taken h in the meantime and calls lost
		}
		c.mu.Unlock()
		return code
	}
	c.mu.Unlock()
	if h.taken.Load() {
		// fn was called already, or abandon cancelled it before its id was known.
		s.api.HostCancel(id)
	}
	return code
}

func (c *hostCalls) run(h *hostCall) {
	if !h.taken.CompareAndSwap(false, true) {
		return
	}
	c.mu.Lock()
	delete(c.open, h)
	c.mu.Unlock()
	c.observe() // so that fn sees what earlier functions wrote, and what was written before earlier gates were opened
	h.fn()
	passed.Add(1)
}

// abandon cancels the functions of a stream that have not been called, or those of all streams if s is nil.
// It may be called only if the streams have no work left that will run.
func (c *hostCalls) abandon(s *Stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for h := range c.open {
		if s != nil && h.stream != s || !h.taken.CompareAndSwap(false, true) {
			continue
		}
		delete(c.open, h)
		if h.id != 0 {
			h.stream.api.HostCancel(h.id)
		}
		if h.lost != nil {
			go h.lost()
		}
	}
}

// OnDone implements driver.Notifier.
func (s *Stream) OnDone(fn func()) error {
	const op = "host callback"
	if !s.dev.info.Caps.Has(driver.CapHostCallback) {
		return s.dev.refuse(op, driver.ErrUnsupported, "host callbacks are not supported")
	}
	code := s.dev.calls.enqueue(s, func() { go fn() }, fn)
	return s.dev.check(op, CallHostCall, code)
}
