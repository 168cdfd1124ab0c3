package hal

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-halyard/halyard/hal/driver"
)

// Event stands for the work that a stream had been given when the event was last recorded.
type Event struct {
	s       *eventState
	dev     *Device
	cleanup runtime.Cleanup
}

type eventState struct {
	handle
	child
	dev  *deviceState
	opts EventOptions

	mu     sync.Mutex
	cur    *vendorEvent
	stream *streamState // of the last record, nil before the first
}

// vendorEvent is a driver's event with the number of goroutines that wait for it on behalf of
// other backends. One that was replaced is closed by its last user.
type vendorEvent struct {
	drv   driver.Event
	waits int
	users atomic.Int32 // calls and waits under way, and one until it is replaced
}

func newVendorEvent(drv driver.Event) *vendorEvent {
	ev := &vendorEvent{drv: drv}
	ev.users.Store(1)
	return ev
}

// drop ends a use.
func (s *eventState) drop(ev *vendorEvent) {
	if ev.users.Add(-1) == 0 {
		s.dev.took()
		_ = s.dev.closeEvent(ev.drv)
	}
}

func newEvent(d *Device, op string, drv driver.Event, o EventOptions) (*Event, error) {
	s := &eventState{dev: d.s, cur: newVendorEvent(drv), opts: o}
	if !d.s.enlist(&s.child, s) {
		_ = drv.Close()
		return nil, d.s.closedError(op)
	}
	e := &Event{s: s, dev: d}
	e.cleanup = runtime.AddCleanup(e, (*eventState).leaked, s)
	return e, nil
}

func (s *eventState) describe() string { return "event" }

// Device is the device that the event belongs to.
func (e *Event) Device() *Device { return e.dev }

// Record makes e stand for all work that the stream has been given so far. The event belongs to
// the stream's device, else the error is of kind ErrWrongDevice. Waits that were enqueued before keep
// waiting for what the event stood for then.
func (s *Stream) Record(e *Event) error {
	const op = "record"
	st := s.s
	if err := st.begin(op); err != nil {
		return err
	}
	defer st.end()
	if err := e.lock(op); err != nil {
		return err
	}
	defer e.s.mu.Unlock()
	if e.s.dev != st.dev {
		return st.dev.failure(op, ErrWrongDevice, "an event of %s", Name(e.s.dev.info))
	}
	es := e.s
	ev := es.cur
	if ev.waits > 0 {
		// Someone still waits for the earlier meaning: leave the vendor's event to them.
		fresh, err := es.dev.drv.NewEvent(es.opts)
		if err != nil {
			return es.dev.check(err)
		}
		ev = newVendorEvent(fresh)
	}
	if err := st.drv.Record(ev.drv); err != nil {
		if ev != es.cur {
			_ = ev.drv.Close()
		}
		return es.dev.check(err)
	}
	if ev != es.cur {
		es.drop(es.cur)
		es.cur = ev
	}
	es.stream = st
	return nil
}

// Wait makes later work of the stream wait for what e stands for now. It does not block. e
// may belong to any device of any backend; across backends the stream is held shut by a gate
// until the event fires, which needs CapGate. Waiting for an event that was never recorded,
// or that was recorded on the stream itself, does nothing.
func (s *Stream) Wait(e *Event) error {
	const op = "wait"
	st := s.s
	if err := st.begin(op); err != nil {
		return err
	}
	defer st.end()
	if err := e.lock(op); err != nil {
		return err
	}
	defer e.s.mu.Unlock()
	es := e.s
	if es.stream == nil || es.stream == st {
		return nil
	}
	if st.dev.links(es.dev, driver.LinkWait) {
		return st.dev.check(st.drv.Wait(es.cur.drv))
	}
	return es.waitAcross(op, st)
}

// waitAcross makes a stream wait whose driver does not know the event; es.mu is held.
func (s *eventState) waitAcross(op string, st *streamState) error {
	ev := s.cur
	if done, _ := asked(ev.drv); done {
		return nil
	}
	g, err := st.gate()
	if err != nil {
		return err
	}
	if !s.enter() { // closed since it was locked
		_ = g.Open()
		return s.dev.failure(op, ErrClosed, "the event is closed")
	}
	ev.waits++
	ev.users.Add(1)
	st.bridge(g, ev.drv, func() { s.bridged(ev) })
	return nil
}

// bridged ends a wait on behalf of another backend.
func (s *eventState) bridged(ev *vendorEvent) {
	s.mu.Lock()
	ev.waits--
	s.mu.Unlock()
	s.drop(ev)
	s.end()
}

// Query reports whether the work has finished, and its error if it failed. An event that was
// never recorded is done.
func (e *Event) Query() (bool, error) {
	if err := e.begin("query"); err != nil {
		return false, err
	}
	defer e.s.end()
	return e.s.query()
}

func (s *eventState) query() (bool, error) {
	ev, stream := s.recorded()
	defer s.drop(ev)
	if stream == nil {
		return true, nil
	}
	done, err := ev.drv.Query()
	return done, s.dev.check(err)
}

// Sync waits until the work has finished, and returns its error if it failed. When ctx ends
// first the error is of kind ErrNotReady and wraps the context's.
func (e *Event) Sync(ctx context.Context) error {
	if err := e.begin("sync"); err != nil {
		return err
	}
	if ctx.Done() == nil {
		err := e.s.sync()
		e.s.end()
		return err
	}
	return await(ctx, "sync", e.s.query, e.s.sync, e.s.end)
}

func (s *eventState) sync() error {
	ev, stream := s.recorded()
	defer s.drop(ev)
	if stream == nil {
		return nil
	}
	return s.dev.check(ev.drv.Sync())
}

// Elapsed is the device time between since and e. Both were made with Timing and recorded,
// else the error is of kind ErrInvalidArgument, on devices of one backend that time each other's
// events, else ErrWrongDevice. ErrNotReady means that one has not happened yet.
func (e *Event) Elapsed(since *Event) (time.Duration, error) {
	const op = "elapsed time"
	if err := e.begin(op); err != nil {
		return 0, err
	}
	defer e.s.end()
	if err := since.begin(op); err != nil {
		return 0, err
	}
	defer since.s.end()
	to, toStream := e.s.recorded()
	defer e.s.drop(to)
	from, fromStream := since.s.recorded()
	defer since.s.drop(from)
	switch {
	case !e.s.dev.links(since.s.dev, driver.LinkWait):
		return 0, e.s.dev.failure(op, ErrWrongDevice, "an event of %s", Name(since.s.dev.info))
	case !e.s.opts.Timing || !since.s.opts.Timing:
		return 0, e.s.dev.failure(op, ErrInvalidArgument, "the events were not made with Timing")
	case toStream == nil || fromStream == nil:
		return 0, e.s.dev.failure(op, ErrInvalidArgument, "an event was never recorded")
	}
	t, ok := to.drv.(driver.Timer)
	if !ok {
		return 0, e.s.dev.failure(op, ErrUnsupported, "the device does not time events")
	}
	d, err := t.Elapsed(from.drv)
	return d, e.s.dev.check(err)
}

// recorded returns the vendor's event as it is now, for the caller to use until drop, and the stream of the last record.
func (s *eventState) recorded() (*vendorEvent, *streamState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cur.users.Add(1)
	return s.cur, s.stream
}

// Close closes the event. Waits that were enqueued keep their meaning.
func (e *Event) Close() error {
	first, finish := e.s.handle.close()
	if !first {
		return nil
	}
	e.cleanup.Stop()
	e.s.dev.strike(&e.s.child)
	if finish {
		return e.s.finish()
	}
	return nil
}

func (e *Event) begin(op string) error {
	if e == nil {
		return Errorf(op, ErrInvalidArgument, "nil event")
	}
	if !e.s.enter() {
		return e.s.dev.failure(op, ErrClosed, "the event is closed")
	}
	return nil
}

func (s *eventState) end() {
	if s.leave() {
		_ = s.finish()
	}
}

func (s *eventState) finish() error {
	s.mu.Lock() // a call that found the event open under the lock ends first
	drv := s.cur.drv
	s.mu.Unlock()
	return s.dev.closeEvent(drv)
}

// lock locks the event for a call that stays under the lock, which keeps Close from finishing the
// event meanwhile.
func (e *Event) lock(op string) error {
	if e == nil {
		return Errorf(op, ErrInvalidArgument, "nil event")
	}
	e.s.mu.Lock()
	if e.s.closed() {
		e.s.mu.Unlock()
		return e.s.dev.failure(op, ErrClosed, "the event is closed")
	}
	return nil
}

// closeEvent closes a vendor event that nothing refers to, once its work has finished. The event counts as
// one of the device's objects until then.
func (s *deviceState) closeEvent(drv driver.Event) error {
	done, err := drv.Query()
	if done || err != nil {
		defer s.gave()
		return s.check(drv.Close())
	}
	s.reaper.add(func() bool {
		done, err := drv.Query()
		return done || err != nil
	}, func() {
		_ = drv.Close()
		s.gave()
	})
	return nil
}
