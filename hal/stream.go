package hal

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/hal/internal/life"
	"github.com/go-halyard/halyard/hal/internal/wait"
)

// Stream is an in-order queue of work on one device.
type Stream struct {
	s       *streamState
	dev     *Device
	lookout *life.Lookout
}

type streamState struct {
	life.Object // how it opens and closes
	life.User   // its identity for the memories that its work uses
	wait.Stream // the driver's stream, and how it is waited for: Done, Sync, Keep
	dev         *deviceState
	seen        atomic.Pointer[view] // set by noteBytes: the memory whose Bytes the stream's copies used last

	imported bool        // work that the program enqueues on its handle may keep it busy for ever
	handed   atomic.Bool // the program has the handle

	left    life.Latch // open when the stream is closed and no call or bridge (see package wait) uses it
	drained life.Latch // opened by GiveBack, when the stream's work has finished and the driver's stream is closed

	launched recentLaunches
	teller   driver.FailureTeller // the driver's stream, nil if it is no driver.FailureTeller
}

// StreamOption is an option of [Device.NewStream].
type StreamOption func(*driver.StreamOptions)

// WithPriority gives the stream a priority: 0 is normal, and work of streams with lower numbers runs first. It is clamped to the range from
// Info.HighPriority to Info.LowPriority, and has no effect on a device without CapPriority.
func WithPriority(n int) StreamOption { return func(o *driver.StreamOptions) { o.Priority = n } }

// NewStream returns a new stream.
func (d *Device) NewStream(opts ...StreamOption) (*Stream, error) {
	const op = "new stream"
	if err := d.begin(op); err != nil {
		return nil, err
	}
	defer d.end()
	var o driver.StreamOptions
	for _, set := range opts {
		if set == nil {
			return nil, d.s.Failure(op, ErrInvalidArgument, "nil option")
		}
		set(&o)
	}
	info := &d.s.Info
	o.Priority = max(min(o.Priority, max(info.LowPriority, info.HighPriority)), min(info.LowPriority, info.HighPriority))
	drv, err := d.s.Drv.NewStream(o)
	if err != nil {
		return nil, d.s.Check(err)
	}
	return newStream(d, op, makeStream(d.s, drv))
}

// makeStream returns the state of a driver's stream, which is not yet admitted to a device.
func makeStream(d *deviceState, drv driver.Stream) *streamState {
	s := &streamState{dev: d}
	s.Stream.Init(&d.Device, drv, s)
	s.Left = &s.left
	s.User.Pending = s.pendingWork
	s.teller, _ = drv.(driver.FailureTeller)
	return s
}

// newStream adds a driver stream to the device, or closes it if the device was closed meanwhile. Once newStream has returned,
// other goroutines can see s.
func newStream(d *Device, op string, s *streamState) (*Stream, error) {
	w, ok := d.h.Admit(&s.Object, s)
	if !ok {
		return nil, d.s.closedError(op)
	}
	return &Stream{s: s, dev: d, lookout: w}, nil
}

// Describe implements life.Thing.
func (st *streamState) Describe() string {
	if st.imported {
		return "imported stream"
	}
	return "stream"
}

// String says which device the stream belongs to.
func (s *Stream) String() string {
	if st := s.state(); st != nil {
		return st.dev.on(st)
	}
	return "no stream"
}

// Device returns the device that the stream belongs to.
func (s *Stream) Device() *Device {
	if s == nil {
		return nil
	}
	return s.dev
}

// failsForGood is for package layer.
func (s *Stream) failsForGood() bool {
	st := s.state()
	return st != nil && st.dev.FailsForGood()
}

// state returns the stream behind s, nil for a nil or zero Stream.
func (s *Stream) state() *streamState {
	if s == nil {
		return nil
	}
	return s.s
}

// noStream is the error of a call on, or with, a nil or zero Stream.
func noStream(op string) error { return Errorf(op, ErrInvalidArgument, "nil or zero stream") }

// Handle returns the vendor's stream, for the program's own launches: a CUstream, a hipStream_t or
// a cl_command_queue. On the host it is a number that only ImportStream takes. It is 0 once the stream is closed.
func (s *Stream) Handle() uintptr {
	if s.state() == nil || s.s.Closed() {
		return 0
	}
	s.s.handed.Store(true)
	return s.s.Drv.Handle()
}

// end ends a call. It keeps s reachable until then, so that the collector does not close s.
func (s *Stream) end() {
	s.s.Leave()
	runtime.KeepAlive(s)
}

// begin begins a call on a stream, or returns why the stream refuses it; Stream.end ends it. st is nil for a nil or zero Stream.
func (st *streamState) begin(op string) error {
	if st == nil {
		return noStream(op)
	}
	if !st.Enter() {
		return st.dev.Failure(op, ErrClosed, "the stream is closed")
	}
	if lost := st.dev.Lost(); lost != nil {
		st.Leave()
		return lost
	}
	return nil
}

// err returns nil if the stream accepts work, else an error of kind ErrClosed or ErrDeviceLost.
func (s *Stream) err() error {
	const op = "use a stream"
	if s == nil || s.s == nil {
		return noStream(op)
	}
	if s.s.Closed() {
		return s.s.dev.Failure(op, ErrClosed, "the stream is closed")
	}
	if lost := s.s.dev.Lost(); lost != nil {
		return lost
	}
	return nil
}

// Record returns an event that stands for all work enqueued on the stream so far.
func (s *Stream) Record(opts ...EventOption) (*Event, error) {
	const op = "record"
	st := s.state()
	if err := st.begin(op); err != nil {
		return nil, err
	}
	defer s.end()
	var o driver.EventOptions
	for _, set := range opts {
		if set == nil {
			return nil, st.dev.Failure(op, ErrInvalidArgument, "nil option")
		}
		set(&o)
	}
	timing := o.Timing
	if timing && !st.dev.Info.Caps.Has(CapTiming) {
		return nil, st.dev.Failure(op, ErrUnsupported, "event timing is not supported")
	}
	e, err := st.Event(timing)
	if err != nil {
		return nil, err
	}
	es := e.Outer.(*eventState)
	w, ok := s.dev.h.Enlist(&es.Child, es)
	if !ok {
		es.Release()
		return nil, st.dev.closedError(op)
	}
	return &Event{s: es, dev: s.dev, lookout: w}, nil
}

// event records an event and returns it with one reference.
func (s *Stream) event(op string) (*wait.Event, error) {
	st := s.state()
	if err := st.begin(op); err != nil {
		return nil, err
	}
	e, err := st.Event(false)
	s.end()
	return e, err
}

// recordShared is layer.RecordShared. Nobody calls it with a nil or zero Stream.
func (s *Stream) recordShared() (*Event, error) {
	st := s.s
	if err := st.begin("record"); err != nil {
		return nil, err
	}
	e, err := st.Event(false)
	s.end()
	if err != nil {
		return nil, err
	}
	return &e.Outer.(*eventState).shared, nil
}

// WaitEvent makes later work of s wait for the event's work. It blocks in three cases only, all with an event of another backend whose
// work has not finished. If the device of s has no CapGate, the call waits for that work. On CUDA and HIP, while the program holds a [Gate]
// shut, it waits for the frees under way, as [Stream.Gate] does. And it first gives the work 0.2 ms to end, because short work ends
// sooner than the device of s could be made to wait for it; after several such waits in vain it tries this less often. Waiting for an event of
// s itself, or for finished work, costs nothing. WaitEvent does not report whether the event's work failed; [Event.Done] does.
func (s *Stream) WaitEvent(e *Event) error {
	es, err := e.begin("wait")
	if err != nil {
		return err
	}
	err = s.wait(es.Event)
	e.end()
	return err
}

// wait makes later work of s wait for the event.
func (s *Stream) wait(e *wait.Event) error {
	st := s.state()
	if err := st.begin("wait"); err != nil {
		return err
	}
	defer s.end()
	return st.Wait(e)
}

// WaitStream makes later work of s wait for all work enqueued on t so far. It blocks in the same cases as [Stream.WaitEvent].
// t may belong to any device. If t is closed, s waits for the work of t that is still under way; without CapGate the call itself does.
func (s *Stream) WaitStream(t *Stream) error {
	const op = "wait"
	if s.state() == nil || t.state() == nil {
		return noStream(op)
	}
	if s.s == t.s {
		return s.err()
	}
	defer runtime.KeepAlive(t)
	if e, err := t.event(op); err == nil {
		defer e.Release()
		return s.wait(e)
	} else if !isKind(err, ErrClosed) {
		return err
	}
	if err := s.state().begin(op); err != nil {
		return err
	}
	defer s.end()
	if t.s.Gone.Load() {
		return nil
	}
	return s.s.WaitLatch(&t.s.drained)
}

// Done reports whether all work enqueued so far has finished, and returns an error found in it.
func (s *Stream) Done() (bool, error) {
	if err := s.state().begin("query"); err != nil {
		return false, err
	}
	done, err := s.s.Stream.Done()
	s.end()
	return done, err
}

// Sync waits until all work enqueued before the call has finished, and returns an error
// found in it. If ctx ends first, the error is of kind ErrNotReady and wraps the context's
// cause; the work goes on.
func (s *Stream) Sync(ctx context.Context) error {
	const op = "sync"
	if err := s.state().begin(op); err != nil {
		return err
	}
	defer s.end() // also if a method of ctx panics
	err, failed := s.s.Stream.Sync(ctx, op)
	if err == nil {
		err = failed
	}
	return err
}

// OnDone calls fn on a new goroutine once the work enqueued so far has finished. Later work
// of the stream does not wait for fn, unless a [Gate] that fn opens is enqueued behind OnDone. fn may block and may use the
// library. It needs CapHostCallback.
func (s *Stream) OnDone(fn func()) error {
	const op = "host callback"
	if err := s.state().begin(op); err != nil {
		return err
	}
	defer s.end()
	c, ok := s.s.Drv.(driver.Notifier)
	if !ok || !s.s.dev.Info.Caps.Has(CapHostCallback) {
		return s.s.dev.Failure(op, ErrUnsupported, "host callbacks are not supported")
	}
	if fn == nil {
		return s.s.dev.Failure(op, ErrInvalidArgument, "nil function")
	}
	return s.s.dev.Check(c.OnDone(fn))
}

// Close closes the stream. It does not wait: work under way goes on, and the vendor's stream
// is destroyed when that work has finished.
func (s *Stream) Close() error {
	if s.state() == nil {
		return noStream("close")
	}
	return s.s.Close(&s.lookout)
}

// Pending implements life.Vendored. An imported stream is given back after the work so far, because its owner may keep it busy for ever.
func (st *streamState) Pending() func() bool {
	if st.Idle() {
		return nil
	}
	if st.imported {
		if passed := st.WorkSoFar(true); passed != nil {
			return passed
		}
	}
	return st.Idle
}

// GiveBack implements life.Vendored.
func (st *streamState) GiveBack() error {
	err := st.Drv.Close()
	st.Gone.Store(true)
	st.drained.Open()
	st.KeepNone()
	return st.dev.Check(err)
}

// pendingWork returns nil if the stream is idle, else a function that reports whether the work
// enqueued so far has finished.
func (st *streamState) pendingWork() func() bool {
	if !st.Enter() {
		if st.Gone.Load() {
			return nil
		}
		return st.Gone.Load
	}
	defer st.Leave()
	if st.Idle() {
		return nil
	}
	if passed := st.WorkSoFar(false); passed != nil {
		return passed
	}
	// Without an event, wait for the stream as a whole.
	return func() bool {
		if !st.Enter() {
			return st.Gone.Load()
		}
		defer st.Leave()
		return st.Idle()
	}
}

// Blame implements wait.OuterStream: it adds the last launches of the stream to an error of work that failed.
func (st *streamState) Blame(err error) error {
	e, ok := err.(*Error)
	if !ok || st.launched.n.Load() == 0 || strings.Contains(e.Detail, "kernel") {
		return err
	}
	named := *e
	if named.Detail != "" {
		named.Detail += "; "
	}
	named.Detail += "the last kernels launched on the stream by now: " + st.launched.String()
	return &named
}

// recentLaunches are the names of the last kernels that a stream launched.
type recentLaunches struct {
	n     atomic.Uint64
	names [4]atomic.Pointer[string]
}

func (r *recentLaunches) add(name *string) {
	n := r.n.Add(1) - 1
	if slot := &r.names[n%uint64(len(r.names))]; slot.Load() != name { // one kernel again and again is the usual case
		slot.Store(name)
	}
}

// String lists the launches, the last first, each with its number on the stream.
func (r *recentLaunches) String() string {
	var list []string
	n := r.n.Load()
	for i := range min(n, uint64(len(r.names))) {
		if name := r.names[(n-1-i)%uint64(len(r.names))].Load(); name != nil {
			list = append(list, fmt.Sprintf("%s (launch %d)", *name, n-i))
		}
	}
	return strings.Join(list, ", ")
}

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
	*wait.Event       // the driver's event, and how it is waited for: Done, Wait, OnDone
	life.Child        // in the list of the device's handle while the program has its reference
	shared      Event // what other packages of this module get (layer.RecordShared): it is in no list
	dev         *deviceState
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
	defer e.end() // also if a method of ctx panics
	if ctx == nil {
		return wait.Ended(op, ctx)
	}
	_, err = es.Wait(ctx, op)
	return err
}

// OnDone calls fn once with the error of the event's work, soon after the work has finished, at the latest when the device
// is closed. The event may be closed earlier. fn runs on a goroutine of its own, but the device's other waits wait for it: fn must be quick,
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
	es.OnDone(func(err error) {
		var ended sync.WaitGroup
		ended.Go(func() { fn(err) }) // it may end its goroutine, but not the one that waits for the device's work
		ended.Wait()
	})
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
