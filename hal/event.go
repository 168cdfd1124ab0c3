package hal

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/go-halyard/halyard/hal/driver"
)

// Event stands for the work that was enqueued on a stream when the event was last recorded.
type Event struct {
	s       *eventState
	dev     *Device
	cleanup runtime.Cleanup
}

type eventState struct {
	child
	dev  *deviceState
	opts EventOptions

	mu     sync.Mutex
	mark   *Mark // of the last record; its stream is nil before the first
	closed bool
}

func (s *eventState) describe() string { return "event" }

// NewEvent returns a new event, which stands for no work until it is recorded. The option
// Timing needs CapTiming.
func (d *Device) NewEvent(o EventOptions) (*Event, error) {
	const op = "new event"
	if err := d.begin(op); err != nil {
		return nil, err
	}
	defer d.s.end()
	if o.Timing && !d.s.info.Caps.Has(CapTiming) {
		return nil, d.s.failure(op, ErrUnsupported, "event timing is not supported")
	}
	m, err := d.s.newMark(o.Timing)
	if err != nil {
		return nil, err
	}
	s := &eventState{dev: d.s, opts: o, mark: m}
	if !d.enlist(&s.child, s) {
		m.Release()
		return nil, d.s.closedError(op)
	}
	e := &Event{s: s, dev: d}
	e.cleanup = runtime.AddCleanup(e, (*eventState).leaked, s)
	return e, nil
}

// Device returns the device that the event belongs to.
func (e *Event) Device() *Device {
	if e == nil {
		return nil
	}
	return e.dev
}

// noEvent is the error of a call on, or with, a nil or zero Event.
func noEvent(op string) error { return Errorf(op, ErrInvalidArgument, "nil or zero event") }

// lock locks the event, unless it is closed.
func (e *Event) lock(op string) error {
	if e == nil || e.s == nil {
		return noEvent(op)
	}
	e.s.mu.Lock()
	if e.s.closed {
		e.s.mu.Unlock()
		return e.s.dev.failure(op, ErrClosed, "the event is closed")
	}
	return nil
}

// recorded returns the mark that the event stands for, which the caller releases, or nil before the first Record.
func (e *Event) recorded(op string) (*Mark, error) {
	if err := e.lock(op); err != nil {
		return nil, err
	}
	defer e.s.mu.Unlock()
	m := e.s.mark
	if m.stream == nil {
		return nil, nil
	}
	m.Retain()
	return m, nil
}

// Record makes e stand for all work enqueued on the stream so far. The event must belong to the
// stream's device, else the error is of kind ErrWrongDevice. Waits that are already enqueued keep
// waiting for the work that the event stood for before.
func (s *Stream) Record(e *Event) error {
	const op = "record"
	st := s.state()
	if err := st.begin(op); err != nil {
		return err
	}
	defer st.end()
	if err := e.lock(op); err != nil {
		return err
	}
	defer e.s.mu.Unlock()
	es := e.s
	if es.dev != st.dev {
		return st.dev.failure(op, ErrWrongDevice, "the event belongs to %s", es.dev.info.Name())
	}
	old := es.mark
	if old.users.Load() == 1 {
		return st.record(old)
	}
	m, err := st.mark(es.opts.Timing)
	if err != nil {
		return err
	}
	es.mark = m
	old.Release() // waits still use the earlier record
	return nil
}

// WaitEvent makes later work of the stream wait for the work that e stands for now. e may belong to any device of any
// backend. If e was never recorded, or was recorded on the same stream, it does nothing. It blocks where
// [Stream.WaitMark] does.
func (s *Stream) WaitEvent(e *Event) error {
	const op = "wait"
	m, err := e.recorded(op)
	switch {
	case err != nil:
		return err
	case m == nil:
		if err := s.state().begin(op); err != nil {
			return err
		}
		s.s.end()
		return nil
	}
	defer m.Release()
	return s.WaitMark(m)
}

// Done reports whether the recorded work has finished, and returns its error if it failed. An event
// that was never recorded is done.
func (e *Event) Done() (bool, error) {
	m, err := e.recorded("query")
	if m == nil {
		return err == nil, err
	}
	defer m.Release()
	return m.Done()
}

// Sync waits until the recorded work has finished, and returns its error if it failed. If ctx ends
// first, the error is of kind ErrNotReady and wraps the context's error.
func (e *Event) Sync(ctx context.Context) error {
	const op = "sync"
	m, err := e.recorded(op)
	if m == nil {
		return err
	}
	defer m.Release()
	_, err = m.wait(ctx, op)
	return err
}

// Elapsed returns the device time from since to e. The error is of kind ErrInvalidArgument if an event
// was made without Timing or never recorded, ErrWrongDevice if the devices cannot time each other's
// events, and ErrNotReady if the work of one has not finished.
func (e *Event) Elapsed(since *Event) (time.Duration, error) {
	const op = "elapsed time"
	to, err := e.recorded(op)
	if err != nil {
		return 0, err
	}
	if to != nil {
		defer to.Release()
	}
	from, err := since.recorded(op)
	if err != nil {
		return 0, err
	}
	if from != nil {
		defer from.Release()
	}
	dev := e.s.dev
	switch {
	case !dev.links(since.s.dev, driver.PeerWait):
		return 0, dev.failure(op, ErrWrongDevice, "the event belongs to %s", since.s.dev.info.Name())
	case !e.s.opts.Timing || !since.s.opts.Timing:
		return 0, dev.failure(op, ErrInvalidArgument, "an event was made without Timing")
	case to == nil || from == nil:
		return 0, dev.failure(op, ErrInvalidArgument, "an event was never recorded")
	}
	for _, m := range [...]*Mark{to, from} {
		if !m.dev.asks.enter() {
			return 0, m.dev.closedError(op) // the event was closed during this call, and then its device
		}
		defer m.dev.asks.leave()
	}
	t, ok := to.drv.(driver.Timer)
	if !ok {
		return 0, dev.failure(op, ErrUnsupported, "event timing is not supported")
	}
	d, err := t.Elapsed(from.drv)
	return d, dev.check(err)
}

// Close closes the event. Waits that are already enqueued stay in effect.
func (e *Event) Close() error {
	if e == nil || e.s == nil {
		return noEvent("close")
	}
	e.cleanup.Stop()
	e.s.close()
	return nil
}

func (s *eventState) close() {
	s.mu.Lock()
	m, closed := s.mark, s.closed
	s.mark, s.closed = nil, true
	s.mu.Unlock()
	if closed {
		return
	}
	m.Release()
	s.dev.strike(&s.child)
	s.dev.gave()
}
