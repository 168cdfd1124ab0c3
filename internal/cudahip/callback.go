package cudahip

import (
	"sync"
	"sync/atomic"

	"github.com/go-halyard/halyard/hal/driver"
)

// hostCalls are the functions that streams of a device are to call on the host. A vendor
// does not call them once the device is lost; they are then called off.
type hostCalls struct {
	mu   sync.Mutex
	open map[*hostCall]struct{}
}

// passed counts the calls that were made and the gates that were opened, on all devices: streams of different devices
// wait for each other in the vendor's library, where Go sees nothing of it. What a call wrote to host memory, or what
// went before a gate, is seen by whoever reads the counter afterwards.
var passed atomic.Uint64

// hostCall is one function. It is taken once: by the vendor's call, or because that will not
// come.
type hostCall struct {
	stream *Stream
	fn     func()
	lost   func() // instead of fn when the call is off, or nil

	taken atomic.Bool
	id    uintptr // under hostCalls.mu; 0 until the call has been enqueued
}

// observe orders the caller after the host functions that it knows to have returned.
func (c *hostCalls) observe() { passed.Load() }

// enqueue has the stream call fn on the vendor's thread. If the call will never come, lost is
// called instead, on a goroutine of its own.
func (c *hostCalls) enqueue(s *Stream, fn, lost func()) Code {
	h := &hostCall{stream: s, fn: fn, lost: lost}
	c.mu.Lock()
	if c.open == nil {
		c.open = make(map[*hostCall]struct{})
	}
	c.open[h] = struct{}{}
	c.mu.Unlock()

	// The call may come before this returns.
	id, code := s.api.HostCall(s.ctx, s.handle, func() { c.run(h) })

	c.mu.Lock()
	h.id = id
	if code != Success {
		delete(c.open, h)
	}
	c.mu.Unlock()
	if code == Success && h.taken.Load() {
		// It was called, or called off before its id was known.
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
	c.observe() // what an earlier call wrote, or whoever opened the gate before this one
	h.fn()
	passed.Add(1)
}

// abandon calls off what has not been called, of one stream or of all if s is nil. The
// streams have no work left, or none that will ever run.
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

// OnDone implements driver.Caller.
func (s *Stream) OnDone(fn func()) error {
	const op = "host callback"
	if !s.dev.info.Caps.Has(driver.CapHostCallback) {
		return s.dev.refuse(op, driver.ErrUnsupported, "the device does not call back")
	}
	code := s.dev.calls.enqueue(s, func() { go fn() }, fn)
	return s.dev.check(op, CallHostCall, code)
}
