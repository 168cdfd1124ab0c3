package cudahip

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/nap"
)

// Stream implements driver.Stream, driver.Gater, driver.Notifier, driver.StreamAllocator,
// driver.Prefetcher and driver.Launcher.
type Stream struct {
	dev    *Device
	api    API
	ctx    Context
	handle uintptr

	foreign bool // imported: Close does not destroy it
	gates   gates
	staging staging
}

func (s *Stream) Handle() uintptr { return s.handle }

// at returns the device's address of a region of the memory.
func (m *Memory) at(r driver.Region) uintptr { return m.addr + uintptr(r.Off) }

// idle reports whether all work of the stream is done.
func (s *Stream) idle(op string) (bool, error) {
	return s.dev.finished(op, CallStreamQuery, s.api.StreamQuery(s.ctx, s.handle))
}

func (s *Stream) Record(event driver.Event) error {
	e := event.(*Event)
	if code := s.api.EventRecord(s.ctx, e.handle, s.handle); code != Success {
		return s.dev.fail("record", CallEventRecord, code)
	}
	e.recorded.Store(true)
	return nil
}

// Wait implements driver.Stream. The event may belong to any device of the library.
func (s *Stream) Wait(event driver.Event) error {
	e := event.(*Event)
	if !e.recorded.Load() {
		return nil
	}
	return s.dev.check("wait", CallStreamWait, s.api.StreamWait(s.ctx, s.handle, e.handle))
}

func (s *Stream) Query() (bool, error) {
	return s.idle("query stream")
}

func (s *Stream) Sync() error {
	code := s.api.StreamSync(s.ctx, s.handle)
	s.dev.calls.observe()
	return s.dev.check("sync stream", CallStreamSync, code)
}

func (s *Stream) AllocAsync(size, align uint64) (driver.Memory, error) {
	const op = "stream-ordered alloc"
	d := s.dev
	d.pool.once.Do(func() { d.pool.open(d) })
	m := &Memory{dev: d, size: size, origin: fromStream}
	alloc := func(total uint64) (base, addr uintptr, failed Call, code Code) {
		base, code = s.api.AllocAsync(s.ctx, uintptr(total), s.handle)
		return base, base, CallAllocAsync, code
	}
	free := func(base uintptr) { _ = s.api.FreeAsync(s.ctx, base, s.handle) }
	if err := m.allocate(op, align, alloc, free); err != nil {
		return nil, err
	}
	return m, nil
}

func (s *Stream) Prefetch(r driver.Region, toHost bool) error {
	to := s.dev.dev
	if toHost {
		to = HostCPU
	}
	return s.dev.check("prefetch", CallPrefetch, s.api.Prefetch(s.ctx, r.Mem.(*Memory).at(r), uintptr(r.Len), to, s.handle))
}

func (s *Stream) Close() error {
	d := s.dev
	d.calls.abandon(s)
	s.gates.close(d)
	left := d.staging.leave(s)
	var err error
	if !s.foreign {
		err = d.release(CallStreamDestroy, API.StreamDestroy, s.handle)
	}
	d.staging.put(left)
	return err
}

// Event implements driver.Event and driver.Timer.
type Event struct {
	dev    *Device
	handle uintptr

	// recorded says that Record recorded the event, or that the program has its handle and may have recorded it. An
	// event that was never recorded counts as done. The vendor is not queried for it, since old versions of chipStar
	// report such an event as not ready for ever.
	recorded atomic.Bool
}

func (e *Event) Query() (bool, error) {
	d := e.dev
	if !e.recorded.Load() {
		return true, nil
	}
	code := d.api.EventQuery(d.ctx, e.handle)
	return d.finished("query event", CallEventQuery, code)
}

// finished converts the result of a vendor's query to that of driver.Event.Query. An error of work is sticky: the
// device counts as lost, and its work has ended. Any other error is an error of the query.
func (d *Device) finished(op string, c Call, code Code) (bool, error) {
	switch code {
	case Success:
		d.calls.observe()
		return true, nil
	case CodeNotReady:
		return false, nil
	}
	err := d.fail(op, c, code)
	lost := err.Kind == driver.ErrDeviceLost
	if lost {
		d.calls.observe()
	}
	return lost, err
}

// Sync implements driver.Event. It sleeps most of the time if the wait is long.
func (e *Event) Sync() error {
	d := e.dev
	if !e.recorded.Load() {
		return nil
	}
	if d.lib.vendor.PolledEvents {
		return e.outlast()
	}
	code := d.api.EventSync(d.ctx, e.handle)
	d.calls.observe()
	return d.check("sync event", CallEventSync, code)
}

// eager is how long one wait of a device asks for its event without a pause.
const eager = 100 * time.Microsecond

// outlast asks until the work is done. Only one wait of a device is eager at a time, so that waits, also those that package hal makes for
// its own purposes, keep at most one processor busy.
func (e *Event) outlast() error {
	first := e.dev.eager.TryLock()
	for start := time.Now(); ; {
		done, err := e.Query()
		over, waited := done || err != nil, time.Since(start)
		if first && (over || waited > eager) {
			e.dev.eager.Unlock()
			first = false
		}
		switch {
		case over:
			return err
		case first:
			runtime.Gosched()
		default:
			nap.For(nap.Length(waited))
		}
	}
}

func (e *Event) Close() error {
	return e.dev.release(CallEventDestroy, API.EventDestroy, e.handle)
}

// Elapsed implements driver.Timer. The vendors measure the time only between events of the same
// context.
func (e *Event) Elapsed(since driver.Event) (time.Duration, error) {
	const op = "elapsed time"
	d, from := e.dev, since.(*Event)
	if from.dev.ctx != d.ctx {
		return 0, d.refuse(op, driver.ErrWrongDevice, "the events belong to different devices")
	}
	ms, code := d.api.EventElapsed(d.ctx, from.handle, e.handle)
	if code != Success {
		return 0, d.fail(op, CallEventElapsed, code)
	}
	return time.Duration(float64(ms) * float64(time.Millisecond)), nil
}

// EventHandle returns the vendor's event.
func EventHandle(e driver.Event) uintptr {
	ev := e.(*Event)
	ev.recorded.Store(true)
	return ev.handle
}

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

func (s *Stream) OnDone(fn func()) error {
	return s.dev.check("host callback", CallHostCall, s.dev.calls.enqueue(s, func() { go fn() }, fn))
}
