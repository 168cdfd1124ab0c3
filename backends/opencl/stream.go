//go:build opencl

package opencl

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

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

// Handle returns the cl_command_queue. Commands that the program itself enqueues there count as work of the stream.
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

// forget sets a field of the stream to 0 and releases the event that it held, unless a Sync owns the reference now (lent). s.mu is locked.
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
	old := s.follow(ev)
	s.mu.Unlock()
	if old != 0 {
		s.dev.t.releaseEvent(old)
	}
	return nil
}

// follow stores the event of the latest command, and returns the one before for the caller to release, or 0. s.mu is locked.
func (s *stream) follow(ev uintptr) (old uintptr) {
	if old = s.last; old == s.lent {
		old = 0
	}
	s.last, s.dirty = ev, true
	s.count(ev)
	return old
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

// tail returns an event that completes when all work so far is done, or 0 if there is no such work. The caller releases the event.
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

// probeTime is how long a Query waits for a marker in a queue that may be idle: about ten times as long as a marker takes in an idle queue.
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
	// Only a marker after the work that the program enqueued itself shows whether that work is done. While the marker of an earlier Query
	// is not done, no new marker is needed. Once it is done, Query enqueues a new one, since the program may have enqueued work after it.
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

// passed reports whether the command of an event is done. If it is, passed releases the event and sets the field to 0. s.mu is locked.
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

// syncTail is Sync for a stream on which another goroutine is in Sync too, or whose handle the program has.
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

// await waits for an event. clWaitForEvents flushes the queue of the event (OpenCL 1.2, section 5.13).
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

// While some goroutines keep enqueueing on a stream, another goroutine that waits for the stream may never
// return, for two reasons in Intel's CPU runtime:
//
//   - A thread in clWaitForEvents helps to execute the queue's commands as long as there are any,
//     even after the event that it waits for has completed.
//   - The runtime keeps a list of the commands that use a block of unified shared memory, and searches
//     it whenever a command ends: a backlog of n commands takes time of order n² to finish.
//
// So on CPUs a call that enqueues pauses briefly in two cases: when a wait is overdue, so that the queue can become empty, and when the
// backlog is long. It never waits until work is done, because that work may be behind a gate that only this goroutine can open.
const (
	overdueEvery = 32                    // commands between two checks for overdue waits
	overduePause = 10 * time.Millisecond // at most
	backlog      = 1024                  // commands
	backlogPause = 20 * time.Microsecond
)

// pacing is a stream's record of its waits and its backlog. The stream's lock guards the fields that are not atomic.
type pacing struct {
	waiting []uintptr    // events that goroutines wait for; each goroutine owns a reference to its event
	waits   atomic.Int32 // len(waiting), to be read without the lock
	since   int          // commands since the checkpoint was last checked

	checkpoint uintptr     // event of an earlier command, or 0
	crowded    atomic.Bool // the backlog is long: the checkpoint's command is not known to be done
	look       atomic.Bool // the next call that enqueues checks for overdue waits
}

// waits records that a goroutine is about to wait for an event of the stream. s.mu is locked.
func (s *stream) waits(cl uintptr) {
	s.pacing.waiting = append(s.pacing.waiting, cl)
	s.pacing.waits.Add(1)
}

// waited records that a goroutine no longer waits for the event. s.mu is locked.
func (s *stream) waited(cl uintptr) {
	p := &s.pacing
	if i := slices.Index(p.waiting, cl); i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
		p.waits.Add(-1)
	}
}

// count counts a command that was enqueued. s.mu is locked.
func (s *stream) count(ev uintptr) {
	if !s.dev.hw.cpu {
		return
	}
	p := &s.pacing
	p.since++
	if p.since%overdueEvery == 0 && len(p.waiting) > 0 {
		p.look.Store(true)
	}
	if p.since < backlog {
		return
	}
	p.since = 0
	p.crowded.Store(true)
	s.passCheckpoint()
	if p.checkpoint == 0 {
		s.dev.t.retainEvent(ev)
		p.checkpoint = ev
	}
}

// passCheckpoint releases the checkpoint if its command is done. s.mu is locked.
func (s *stream) passCheckpoint() {
	p := &s.pacing
	if p.checkpoint != 0 {
		if !s.ended(p.checkpoint) {
			return
		}
		s.forget(&p.checkpoint)
	}
	p.crowded.Store(false)
}

// ended reports whether a command is done. It also reports true if the driver fails to report the command's status.
func (s *stream) ended(cl uintptr) bool {
	exec, st := s.dev.t.eventStatus(cl)
	return st != success || exec <= execComplete
}

// pace delays a call that is about to enqueue, if a wait is overdue or the backlog is long.
func (s *stream) pace() {
	p := &s.pacing
	if p.look.Load() && p.look.CompareAndSwap(true, false) {
		for start := time.Now(); time.Since(start) < overduePause && s.overdue(); {
			runtime.Gosched()
		}
	}
	if p.crowded.Load() {
		// A timer is too coarse: it may fire only after fifty times this pause.
		for start := time.Now(); time.Since(start) < backlogPause; {
			runtime.Gosched()
		}
		s.mu.Lock()
		s.passCheckpoint()
		s.mu.Unlock()
	}
}

// overdue reports whether a goroutine still waits for a command that is done.
func (s *stream) overdue() bool {
	if s.pacing.waits.Load() == 0 {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.pacing.waiting, s.ended)
}
