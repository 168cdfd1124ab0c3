//go:build opencl

package opencl

import (
	"sync"
	"time"

	"github.com/go-halyard/halyard/hal/driver"
)

// event stands for a command of a stream.
type event struct {
	dev    *device
	timing bool

	mu     sync.Mutex
	cl     uintptr // 0 if the event was never recorded, or its command is done and timing is false
	stream *stream // where it was recorded
}

// NewEvent returns an event. OpenCL creates the cl_event when a command is enqueued.
func (d *device) NewEvent(o driver.EventOptions) (driver.Event, error) {
	return &event{dev: d, timing: o.Timing}, nil
}

// set makes the event stand for a command. It takes over the caller's reference to cl.
func (e *event) set(s *stream, cl uintptr) {
	e.mu.Lock()
	old := e.cl
	e.cl, e.stream = cl, s
	e.mu.Unlock()
	if old != 0 {
		e.dev.t.releaseEvent(old)
	}
}

// poll reports whether the command is done. If it is, an event without timing releases its cl_event,
// unless the command failed: then later calls report the failure too. e.mu is locked.
func (e *event) poll(op string) (bool, error) {
	if e.cl == 0 {
		return true, nil
	}
	exec, st := e.dev.t.eventStatus(e.cl)
	if st != success {
		return false, e.dev.check(op, "clGetEventInfo", st)
	}
	if exec > execComplete {
		return false, nil
	}
	if exec == execComplete && !e.timing {
		e.dev.t.releaseEvent(e.cl)
		e.cl = 0
	}
	return true, e.dev.finished(op, exec)
}

// Query reports whether the work is done.
func (e *event) Query() (bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.poll("query event")
}

// Sync waits for the work.
func (e *event) Sync() error {
	e.mu.Lock()
	cl, s := e.cl, e.stream
	if cl == 0 {
		e.mu.Unlock()
		return nil
	}
	// The reference keeps cl alive if a Record replaces it while this waits.
	e.dev.t.retainEvent(cl)
	e.mu.Unlock()
	s.mu.Lock()
	s.waits(cl)
	s.mu.Unlock()
	err := e.dev.await("sync event", cl)
	s.mu.Lock()
	s.waited(cl)
	s.mu.Unlock()
	e.dev.t.releaseEvent(cl)
	return err
}

// Elapsed returns the time between the completion of two commands.
func (e *event) Elapsed(since driver.Event) (time.Duration, error) {
	start, err := since.(*event).stamp()
	if err != nil {
		return 0, err
	}
	end, err := e.stamp()
	if err != nil {
		return 0, err
	}
	return time.Duration(end - start), nil
}

// stamp returns the device time at which the command completed, in nanoseconds.
func (e *event) stamp() (int64, error) {
	const op = "elapsed time"
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.cl == 0 {
		return 0, e.dev.refuse(op, driver.ErrInvalidArgument, "an event was never recorded, or was made without timing")
	}
	done, err := e.poll(op)
	if err != nil {
		return 0, err
	}
	if !done {
		return 0, e.dev.refuse(op, driver.ErrNotReady, "an event's work has not finished")
	}
	ns, st := e.dev.t.eventProfile(e.cl, profilingCommandEnd)
	return int64(ns), e.dev.check(op, "clGetEventProfilingInfo", st)
}

// Close releases the event.
func (e *event) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.cl == 0 {
		return nil
	}
	cl := e.cl
	e.cl = 0
	return e.dev.check("close event", "clReleaseEvent", e.dev.t.releaseEvent(cl))
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

// unchanged reports whether the event already stands for all work so far. If so, it flushes the queue, and Record has nothing else to do.
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
		return nil // also if the command failed: the event reports that
	} else if err != nil {
		return err
	}
	s.mu.Lock()
	barrier, st := s.dev.t.barrier(s.queue, ev.cl)
	return s.enqueued(op, "clEnqueueBarrierWithWaitList", barrier, st)
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

// end opens the gate with an execution status. If the status is negative, the commands behind the gate fail with it.
func (g *gate) end(exec int32) error {
	st := g.dev.t.setUserEvent(g.cl, exec)
	g.dev.t.releaseEvent(g.cl)
	return g.dev.check("open gate", "clSetUserEventStatus", st)
}
