//go:build opencl

package opencl

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/dl"
)

// stream is an in-order queue.
type stream struct {
	dev   *device
	queue uintptr

	untimed bool // the queue was imported and made without profiling

	// handedOut says that the program has the queue's handle and may enqueue work of its own.
	handedOut atomic.Bool

	mu    sync.Mutex
	last  uintptr // event of the latest command enqueued here, or 0 if it is known to be done
	lent  uintptr // event that a Sync waits for, or 0; the Sync owns the reference that last had
	dirty bool    // commands were enqueued since the last flush
	probe uintptr // marker that an earlier Query enqueued, or 0

	pacing pacing
}

// NewStream creates a queue. OpenCL has no priorities without an extension.
func (d *device) NewStream(driver.StreamOptions) (driver.Stream, error) {
	// clCreateCommandQueue does all that is needed here, and exists in every version.
	queue, st := d.t.createQueue(d.ctx.cl, d.hw.id, queueProfilingEnable)
	if st != success {
		return nil, d.fail("new stream", "clCreateCommandQueue", st)
	}
	return &stream{dev: d, queue: queue}, nil
}

// Handle returns the cl_command_queue. Commands that the program itself enqueues there count as work
// of the stream.
func (s *stream) Handle() uintptr {
	s.handedOut.Store(true)
	return s.queue
}

// Close releases the queue.
func (s *stream) Close() error {
	t := s.dev.t
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forget(&s.last)
	s.forget(&s.probe)
	s.forget(&s.pacing.checkpoint)
	return s.dev.check("close", "clReleaseCommandQueue", t.releaseQueue(s.queue))
}

// forget sets a field of the stream to 0 and releases the event that it held, unless a Sync owns
// the reference now (lent). s.mu is locked.
func (s *stream) forget(ev *uintptr) {
	if *ev != 0 && (ev != &s.last || *ev != s.lent) {
		s.dev.t.releaseEvent(*ev)
	}
	*ev = 0
}

// enqueued stores a command's event in last, or returns the error for its status. The caller locks
// s.mu before it enqueues, so that last is the event of the latest command. enqueued unlocks s.mu.
func (s *stream) enqueued(op, api string, ev uintptr, st status) error {
	if st != success {
		s.mu.Unlock()
		return s.dev.check(op, api, st)
	}
	old := s.last
	if old == s.lent {
		old = 0
	}
	s.last, s.dirty = ev, true
	s.count(ev)
	s.mu.Unlock()
	if old != 0 {
		s.dev.t.releaseEvent(old)
	}
	return nil
}

// Copy copies between two memories of the device.
func (s *stream) Copy(dst, src driver.Region) error {
	const op = "copy"
	d := s.dev
	to, from := dst.Mem.(*memory), src.Mem.(*memory)
	s.pace()
	s.mu.Lock()
	if d.tier == tierBuffer {
		ev, st := d.t.copyBuffer(s.queue, from.mem, to.mem, src.Off, dst.Off, dst.Len)
		return s.enqueued(op, "clEnqueueCopyBuffer", ev, st)
	}
	return s.memcpy(op, to.addr+uintptr(dst.Off), from.addr+uintptr(src.Off), dst.Len)
}

// memcpy copies between addresses. s.mu is locked, and memcpy unlocks it.
func (s *stream) memcpy(op string, dst, src uintptr, n uint64) error {
	d := s.dev
	if d.tier == tierUSM {
		ev, st := d.hw.usm.memcpy(s.queue, dst, src, n)
		return s.enqueued(op, "clEnqueueMemcpyINTEL", ev, st)
	}
	ev, st := d.t.svmMemcpy(s.queue, dst, src, n)
	return s.enqueued(op, "clEnqueueSVMMemcpy", ev, st)
}

// CopyIn copies from host memory.
func (s *stream) CopyIn(dst driver.Region, src unsafe.Pointer) error {
	const op = "copy in"
	d := s.dev
	to := dst.Mem.(*memory)
	s.pace()
	s.mu.Lock()
	if d.tier == tierBuffer {
		ev, st := d.t.writeBuffer(s.queue, to.mem, dst.Off, dst.Len, dl.Address(src))
		return s.enqueued(op, "clEnqueueWriteBuffer", ev, st)
	}
	return s.memcpy(op, to.addr+uintptr(dst.Off), dl.Address(src), dst.Len)
}

// CopyOut copies to host memory.
func (s *stream) CopyOut(dst unsafe.Pointer, src driver.Region) error {
	const op = "copy out"
	d := s.dev
	from := src.Mem.(*memory)
	s.pace()
	s.mu.Lock()
	if d.tier == tierBuffer {
		ev, st := d.t.readBuffer(s.queue, from.mem, src.Off, src.Len, dl.Address(dst))
		return s.enqueued(op, "clEnqueueReadBuffer", ev, st)
	}
	return s.memcpy(op, dl.Address(dst), from.addr+uintptr(src.Off), src.Len)
}

// Fill fills memory with a repeated pattern.
func (s *stream) Fill(dst driver.Region, p driver.Pattern) error {
	const op = "fill"
	d := s.dev
	to := dst.Mem.(*memory)
	s.pace()
	s.mu.Lock()
	switch d.tier {
	case tierBuffer:
		ev, st := d.t.fillBuffer(s.queue, to.mem, p.Bits, uint64(p.Width), dst.Off, dst.Len)
		return s.enqueued(op, "clEnqueueFillBuffer", ev, st)
	case tierUSM:
		ev, st := d.hw.usm.fill(s.queue, to.addr+uintptr(dst.Off), p.Bits, uint64(p.Width), dst.Len)
		return s.enqueued(op, "clEnqueueMemFillINTEL", ev, st)
	}
	ev, st := d.t.svmFill(s.queue, to.addr+uintptr(dst.Off), p.Bits, uint64(p.Width), dst.Len)
	return s.enqueued(op, "clEnqueueSVMMemFill", ev, st)
}

// Map hands memory to the host.
func (s *stream) Map(mem driver.Memory, write bool) error {
	const op = "map"
	m := mem.(*memory)
	if !m.NeedsMap() {
		return nil
	}
	flags := uint64(mapRead)
	if write {
		flags |= mapWrite
	}
	s.mu.Lock()
	if s.dev.tier != tierBuffer {
		ev, st := s.dev.t.svmMap(s.queue, flags, m.addr, m.size)
		return s.enqueued(op, "clEnqueueSVMMap", ev, st)
	}
	addr, ev, st := s.dev.t.mapBuffer(s.queue, m.mem, flags, 0, m.size)
	if err := s.enqueued(op, "clEnqueueMapBuffer", ev, st); err != nil {
		return err
	}
	if m.addr != 0 && addr != m.addr {
		// The host would read and write outside the memory.
		_ = s.unmap(op, m, addr)
		return s.dev.refuse(op, driver.ErrDriver,
			"the driver mapped the memory at %#x instead of its own address %#x", addr, m.addr)
	}
	m.host.Store((*byte)(dl.Pointer(addr)))
	return nil
}

// Unmap hands memory back to the device.
func (s *stream) Unmap(mem driver.Memory) error {
	const op = "unmap"
	m := mem.(*memory)
	if !m.NeedsMap() {
		return nil
	}
	return s.unmap(op, m, uintptr(m.HostPointer()))
}

func (s *stream) unmap(op string, m *memory, addr uintptr) error {
	s.mu.Lock()
	if s.dev.tier != tierBuffer {
		ev, st := s.dev.t.svmUnmap(s.queue, addr)
		return s.enqueued(op, "clEnqueueSVMUnmap", ev, st)
	}
	ev, st := s.dev.t.unmapBuffer(s.queue, m.mem, addr)
	if st == invalidValue && s.dev.info.Caps.Has(driver.CapGate) {
		s.mu.Unlock()
		return s.unmapLate(op, m, addr)
	}
	return s.enqueued(op, "clEnqueueUnmapMemObject", ev, st)
}

// unmapLate waits for the work so far, then unmaps, and holds later work of the stream until the unmap is done.
// Rusticl (Mesa 22.3) needs this: it knows a mapping only after the command that makes it has run, and refuses the
// address as an invalid value before.
func (s *stream) unmapLate(op string, m *memory, addr uintptr) error {
	d := s.dev
	queue, err := d.queueOfUnmaps(op)
	if err != nil {
		return err
	}
	s.mu.Lock()
	before, err := s.mark(op)
	if err == nil {
		defer d.t.releaseEvent(before)
		// Rusticl calls back only when every command of the same flush has begun, so the gate must be flushed after the marker.
		err = s.flushLocked(op)
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	g, err := s.Gate()
	if err != nil {
		return err
	}
	d.t.retainBuffer(m.mem)
	id, err := eventDone().Add(func(dl.CallbackArgs) {
		d.late.Add(1)
		go func() {
			defer d.late.Done()
			ev, st := d.t.unmapBuffer(queue, m.mem, addr)
			if st == success {
				st = d.t.waitForEvent(ev)
				d.t.releaseEvent(ev)
			}
			g.(*gate).end(int32(st))
			d.t.releaseBuffer(m.mem)
		}()
	})
	if err == nil {
		if st := d.t.setEventCallback(before, eventDone().Entry(), id); st != success {
			eventDone().Remove(id)
			err = d.check(op, "clSetEventCallback", st)
		}
	}
	if err != nil {
		_ = g.Open()
		d.t.releaseBuffer(m.mem)
	}
	return err
}

// queueOfUnmaps returns the queue on which the device unmaps late. No stream uses it.
func (d *device) queueOfUnmaps(op string) (uintptr, error) {
	c := d.ctx
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unmaps == 0 {
		queue, st := d.t.createQueue(c.cl, d.hw.id, 0)
		if st != success {
			return 0, d.check(op, "clCreateCommandQueue", st)
		}
		c.unmaps = queue
	}
	return c.unmaps, nil
}

// Prefetch moves shared memory of the svm tier. In the usm tier clEnqueueMigrateMemINTEL cannot
// move memory to the device: flags of zero are an invalid value.
func (s *stream) Prefetch(r driver.Region, toHost bool) error {
	const op = "prefetch"
	d := s.dev
	if !d.info.Caps.Has(driver.CapPrefetch) {
		return d.refuse(op, driver.ErrUnsupported, "prefetching is not supported by the %s tier", d.tier)
	}
	var flags uint64
	if toHost {
		flags = migrateToHost
	}
	m := r.Mem.(*memory)
	s.mu.Lock()
	ev, st := d.t.svmMigrate(s.queue, m.addr+uintptr(r.Off), r.Len, flags)
	return s.enqueued(op, "clEnqueueSVMMigrateMem", ev, st)
}

// mark enqueues a marker and returns its event, which completes when all work so far is done. The
// stream keeps one reference, and the caller gets another. s.mu is locked.
func (s *stream) mark(op string) (uintptr, error) {
	t := s.dev.t
	ev, st := t.marker(s.queue)
	if st != success {
		return 0, s.dev.check(op, "clEnqueueMarkerWithWaitList", st)
	}
	s.forget(&s.last)
	t.retainEvent(ev)
	s.last, s.dirty = ev, true
	return ev, nil
}

// tail returns an event that completes when all work so far is done, or 0 if there is no such work.
// The caller releases the event.
func (s *stream) tail(op string) (uintptr, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.handedOut.Load() {
		return s.mark(op)
	}
	if s.last != 0 {
		s.dev.t.retainEvent(s.last)
	}
	return s.last, nil
}

// flush sends the enqueued commands to the device.
func (s *stream) flush(op string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flushLocked(op)
}

func (s *stream) flushLocked(op string) error {
	if !s.dirty && !s.handedOut.Load() {
		return nil
	}
	s.dirty = false
	return s.dev.check(op, "clFlush", s.dev.t.flush(s.queue))
}

// Record makes the event stand for the work so far.
func (s *stream) Record(e driver.Event) error {
	const op = "record"
	ev := e.(*event)
	var cl uintptr
	var err error
	if ev.timing {
		if s.untimed {
			return s.dev.refuse(op, driver.ErrUnsupported, "the queue was made without CL_QUEUE_PROFILING_ENABLE")
		}
		s.mu.Lock()
		cl, err = s.mark(op)
		s.mu.Unlock()
	} else {
		if same, err := s.unchanged(op, ev); same {
			return err
		}
		cl, err = s.tail(op)
	}
	if err != nil {
		return err
	}
	if err := s.flush(op); err != nil {
		if cl != 0 {
			s.dev.t.releaseEvent(cl)
		}
		return err
	}
	ev.set(s, cl)
	return nil
}

// unchanged reports whether the event already stands for all work so far. If so, it flushes the queue, and Record has nothing else to
// do.
func (s *stream) unchanged(op string, ev *event) (bool, error) {
	ev.mu.Lock()
	defer ev.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	// The event holds a reference, so no other command's event can have the same handle.
	if ev.cl == 0 || ev.cl != s.last || ev.stream != s || s.handedOut.Load() {
		return false, nil
	}
	return true, s.flushLocked(op)
}

// Wait makes later work wait for the event.
func (s *stream) Wait(e driver.Event) error {
	const op = "wait"
	ev := e.(*event)
	ev.mu.Lock()
	defer ev.mu.Unlock()
	if ev.cl == 0 || ev.stream == s {
		return nil
	}
	if done, err := ev.poll(op); done {
		return nil // also if the command failed, which the event tells
	} else if err != nil {
		return err
	}
	s.mu.Lock()
	barrier, st := s.dev.t.barrier(s.queue, ev.cl)
	return s.enqueued(op, "clEnqueueBarrierWithWaitList", barrier, st)
}

// probeTime is how long a Query waits for a marker in a queue that may be idle: about ten times as
// long as a marker takes in an idle queue.
const probeTime = time.Millisecond

// Query reports whether all work so far is done.
func (s *stream) Query() (done bool, err error) {
	const op = "query"
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.flushLocked(op); err != nil {
		return false, err
	}
	if !s.handedOut.Load() {
		return s.passed(op, &s.last)
	}
	// Only a marker after the work that the program enqueued itself shows whether that work is done.
	// While the marker of an earlier Query is not done, no new marker is needed. Once it is done,
	// Query enqueues a new one, since the program may have enqueued work after it.
	if done, err := s.passed(op, &s.probe); !done || err != nil {
		return done, err
	}
	if s.probe, err = s.mark(op); err != nil {
		return false, err
	}
	if err := s.flushLocked(op); err != nil {
		return false, err
	}
	for start := time.Now(); ; runtime.Gosched() {
		if done, err := s.passed(op, &s.probe); done || err != nil || time.Since(start) > probeTime {
			return done, err
		}
	}
}

// passed reports whether the command of an event is done. If it is, passed releases the event and
// sets the field to 0. s.mu is locked.
func (s *stream) passed(op string, ev *uintptr) (bool, error) {
	if *ev == 0 {
		return true, nil
	}
	exec, st := s.dev.t.eventStatus(*ev)
	if st != success {
		return false, s.dev.check(op, "clGetEventInfo", st)
	}
	if exec > execComplete {
		return false, nil
	}
	s.forget(ev)
	return true, s.dev.finished(op, exec)
}

// finished returns the error of a command that ended with the given execution status.
func (d *device) finished(op string, exec int32) error {
	if exec >= execComplete {
		return nil
	}
	err := d.fail(op, "the command", status(exec))
	err.Detail = "work on the device failed"
	return err
}

// Sync waits for all work so far.
func (s *stream) Sync() error {
	const op = "sync"
	s.mu.Lock()
	cl := s.last
	if s.lent != 0 || s.handedOut.Load() {
		s.mu.Unlock()
		return s.syncTail(op)
	}
	if cl == 0 {
		s.mu.Unlock()
		return nil
	}
	// The stream lends its reference instead of retaining the event: that saves two calls.
	s.lent = cl
	s.waits(cl)
	s.mu.Unlock()
	err := s.dev.await(op, cl)
	over := err == nil || s.dev.over(cl)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waited(cl)
	s.lent = 0
	switch {
	case s.last != cl:
	case over:
		s.last, s.dirty = 0, false
	default:
		return err // last keeps the reference
	}
	s.dev.t.releaseEvent(cl)
	return err
}

// syncTail is Sync for a stream on which another goroutine is in Sync too, or whose handle the
// program has.
func (s *stream) syncTail(op string) error {
	cl, err := s.tail(op)
	if err != nil || cl == 0 {
		return err
	}
	s.mu.Lock()
	s.waits(cl)
	s.mu.Unlock()
	err = s.dev.await(op, cl)
	over := err == nil || s.dev.over(cl)
	s.mu.Lock()
	s.waited(cl)
	if over && s.last == cl {
		s.forget(&s.last)
		s.dirty = false
	}
	s.mu.Unlock()
	s.dev.t.releaseEvent(cl)
	return err
}

// await waits for an event. clWaitForEvents flushes the queue of the event (OpenCL 1.2,
// section 5.13).
func (d *device) await(op string, cl uintptr) error {
	st := d.t.waitForEvent(cl)
	if st == failedWaitEvent {
		if exec, st := d.t.eventStatus(cl); st == success {
			return d.finished(op, exec)
		}
	}
	return d.check(op, "clWaitForEvents", st)
}

// over reports whether a command is known to have ended, for use after await has failed.
func (d *device) over(cl uintptr) bool {
	exec, st := d.t.eventStatus(cl)
	return st == success && exec <= execComplete
}

// eventDone is the callback that OpenCL calls when an event completes, with the event, its status and an id.
var eventDone = sync.OnceValue(func() *dl.Callbacks { return dl.NewCallbacks(3, 2) })

// OnDone calls a function when the work so far is done. OpenCL may call back on a thread of the
// driver, or at once on the calling thread. In either case the function runs on a new goroutine.
func (s *stream) OnDone(fn func()) error {
	const op = "host callback"
	cl, err := s.tail(op)
	if err != nil {
		return err
	}
	if cl == 0 {
		go fn()
		return nil
	}
	defer s.dev.t.releaseEvent(cl)
	// Oclgrind keeps a callback for an event that has already completed, and never calls it.
	if exec, st := s.dev.t.eventStatus(cl); st == success && exec <= execComplete {
		go fn()
		return nil
	}
	id, err := eventDone().Add(func(dl.CallbackArgs) { go fn() })
	if err != nil {
		return err
	}
	if st := s.dev.t.setEventCallback(cl, eventDone().Entry(), id); st != success {
		eventDone().Remove(id)
		return s.dev.check(op, "clSetEventCallback", st)
	}
	return s.flush(op)
}

// gate is a user event that a stream waits for.
type gate struct {
	dev *device
	cl  uintptr
}

// Gate enqueues a gate that is shut.
func (s *stream) Gate() (driver.Gate, error) {
	const op = "gate"
	d := s.dev
	if !d.info.Caps.Has(driver.CapGate) {
		return nil, d.refuse(op, driver.ErrUnsupported, "gates are not supported by the device")
	}
	cl, st := d.t.createUserEvent(d.ctx.cl)
	if st != success {
		return nil, d.check(op, "clCreateUserEvent", st)
	}
	g := &gate{d, cl}
	s.mu.Lock()
	barrier, st := d.t.barrier(s.queue, cl)
	err := s.enqueued(op, "clEnqueueBarrierWithWaitList", barrier, st)
	if err == nil {
		err = s.flush(op)
	}
	if err != nil {
		_ = g.Open()
		return nil, err
	}
	return g, nil
}

// Open opens the gate. It completes the user event without an error, even after a failure: PoCL does
// not report an error of a user event to the commands that wait for it.
func (g *gate) Open() error { return g.end(execComplete) }

// end opens the gate with an execution status. If the status is negative, the commands behind the gate fail
// with it.
func (g *gate) end(exec int32) error {
	st := g.dev.t.setUserEvent(g.cl, exec)
	g.dev.t.releaseEvent(g.cl)
	return g.dev.check("open gate", "clSetUserEventStatus", st)
}
