package hal

import (
	"context"
	"time"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/hal/internal/life"
	"github.com/go-halyard/halyard/hal/internal/wait"
)

// Event stands for the work that had been enqueued on a stream when [Stream.Record] returned the event. Work that is enqueued later is not
// part of it: record another event for that work. Any stream of any device can wait for an
// event.
//
// After Close, once nothing waits for the event, the vendor's event behind it is reused for a later Event.
type Event struct {
	s       *eventState
	dev     *Device
	calls   life.Handle   // of the program's reference; unused in a shared reference
	lookout *life.Lookout // of the program's reference; nil once that is closed
}

// eventState is what an Event refers to. A device uses it again after its last reference is released.
type eventState struct {
	*wait.Event
	life.Child       // in the list of the device's handle while the program has its reference
	shared     Event // what other packages of this module get (layer.RecordShared): it is in no list
	dev        *deviceState
}

// newEvent makes the eventState of a new event of the device.
func (s *deviceState) newEvent(e *wait.Event) {
	es := &eventState{Event: e, dev: s}
	es.shared = Event{s: es, dev: s.common}
	e.Outer = es
}

// Describe implements life.Thing.
func (e *eventState) Describe() string { return "event" }

// Leaked implements life.Thing.
func (e *eventState) Leaked() {
	e.dev.Report(e.Describe())
	e.dev.Retire(&e.Child, nil)
	e.dev.Reaper.Add(func() bool { return true }, e.Release)
}

// EventOption is an option of [Stream.Record].
type EventOption func(*driver.EventOptions)

// WithTiming asks for a time stamp, for [Event.Elapsed]. It needs CapTiming.
func WithTiming() EventOption { return timed }

func timed(o *driver.EventOptions) { o.Timing = true }

// noEvent is the error of a call on, or with, a nil or zero Event.
func noEvent(op string) error { return Errorf(op, ErrInvalidArgument, "nil or zero event") }

// begin begins a call on the event; e.end ends it.
func (e *Event) begin(op string) (*eventState, error) {
	if e == nil || e.s == nil {
		return nil, noEvent(op)
	}
	if e != &e.s.shared && !e.calls.Enter() {
		return nil, e.s.dev.Failure(op, ErrClosed, "the event is closed")
	}
	return e.s, nil
}

func (e *Event) end() {
	if e != &e.s.shared && e.calls.Leave() {
		e.s.Release()
	}
}

// Device returns the device that the event belongs to.
func (e *Event) Device() *Device {
	if e == nil {
		return nil
	}
	return e.dev
}

// String says which device the event belongs to.
func (e *Event) String() string {
	if e == nil || e.s == nil {
		return "no event"
	}
	return e.s.dev.on(e.s)
}

// Done reports whether the event's work has finished, and its error if it failed.
func (e *Event) Done() (bool, error) {
	if e != nil && e.s != nil && e == &e.s.shared {
		return e.s.Event.Done()
	}
	es, err := e.begin("query")
	if err != nil {
		return false, err
	}
	done, err := es.Done()
	e.end()
	return done, err
}

// Sync waits until the event's work has finished, and returns its error if it failed. If ctx ends first, the error is of
// kind ErrNotReady and wraps the context's cause.
func (e *Event) Sync(ctx context.Context) error {
	const op = "sync"
	es, err := e.begin(op)
	if err != nil {
		return err
	}
	_, err = es.Wait(ctx, op)
	e.end()
	return err
}

// OnDone calls fn once with the error of the event's work, soon after the work has finished, at the latest when the device
// is closed. The event may be closed earlier. fn runs on a goroutine that the device's other waits share: fn must be quick,
// must not block, and must not take a lock that a goroutine holds while it waits for work. [Stream.OnDone] has no such limits.
func (e *Event) OnDone(fn func(error)) error {
	const op = "call a function"
	es, err := e.begin(op)
	if err != nil {
		return err
	}
	defer e.end()
	if fn == nil {
		return es.dev.Failure(op, ErrInvalidArgument, "nil function")
	}
	es.OnDone(fn)
	return nil
}

// Elapsed returns the device time from since to e. The error is of kind ErrInvalidArgument if one of the events
// was recorded without WithTiming, ErrWrongDevice if the devices cannot time each other's
// events, and ErrNotReady if the work of one of the events has not finished.
func (e *Event) Elapsed(since *Event) (time.Duration, error) {
	const op = "elapsed time"
	to, err := e.begin(op)
	if err != nil {
		return 0, err
	}
	defer e.end()
	from, err := since.begin(op)
	if err != nil {
		return 0, err
	}
	defer since.end()
	switch {
	case !to.dev.Links(&from.dev.Device, driver.PeerWait):
		return 0, to.dev.Failure(op, ErrWrongDevice, "the event belongs to %s", from.dev.Info.Name())
	case !to.Timing() || !from.Timing():
		return 0, to.dev.Failure(op, ErrInvalidArgument, "an event was recorded without WithTiming")
	}
	return to.Elapsed(op, from.Event)
}

// Close gives the event back. Waits that are already enqueued, and functions given to OnDone, stay in effect. Further calls
// do nothing.
func (e *Event) Close() error {
	if e == nil || e.s == nil {
		return noEvent("close")
	}
	if e == &e.s.shared {
		e.s.Release()
		return nil
	}
	first, finish := e.calls.Close()
	if !first {
		return nil
	}
	e.s.dev.Retire(&e.s.Child, e.lookout)
	e.lookout = nil
	if finish {
		e.s.Release()
	}
	return nil
}
