package cudahip

import (
	"sync"
	"sync/atomic"

	"github.com/go-halyard/halyard/hal/driver"
)

// hostCalls are the functions that streams of a device have yet to call on the host. The vendor
// does not call them once the device is lost; abandon then cancels them.
type hostCalls struct {
	mu   sync.Mutex
	open map[*hostCall]struct{}
}

// passed counts the host functions that have returned and the gates that were opened, on all devices. Streams wait for
// each other in the vendor's library, even across devices, and Go's memory model does not see that; this counter is what
// orders memory instead. A goroutine that reads the counter sees what each counted function wrote, and what was written before
// each counted gate was opened.
var passed atomic.Uint64

// hostCall is one such function. It is taken once: when the vendor calls it, or when it is
// cancelled.
type hostCall struct {
	stream *Stream
	fn     func()
	lost   func() // called instead of fn if the call is cancelled, or nil

	taken atomic.Bool
	id    uintptr // under hostCalls.mu; 0 until the call has been enqueued
}

// observe reads passed, so that the calling goroutine sees what came before each function and gate that passed counts.
func (c *hostCalls) observe() { passed.Load() }

// enqueue has the stream call fn on a thread of the vendor's library. If the call is cancelled, lost is
// called instead, on its own goroutine. If enqueue returns an error, neither is called.
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
			code = Success // abandon has taken it meanwhile and calls lost
		}
		c.mu.Unlock()
		return code
	}
	c.mu.Unlock()
	if h.taken.Load() {
		// It was called, or cancelled before its id was known.
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
	c.observe() // so that fn sees what earlier calls wrote, and what came before earlier gates
	h.fn()
	passed.Add(1)
}

// abandon cancels the functions that have not been called, those of one stream, or all if s is nil. It may be
// called only when the streams have no work left, or none that will ever run.
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
