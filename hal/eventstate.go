package hal

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/hal/internal/life"
)

// eventState is what an Event refers to: a driver's event and the result of its work. References are counted. After the
// last release its device records it again for another Event.
//
// An eventState does not keep its device open: Device.Close waits for the event's work and stores its result.
type eventState struct {
	life.Child       // in the list of the device's handle while the program has its reference
	shared     Event // the Event for shared references
	dev        *deviceState
	timing     bool
	drv        driver.Event // used only inside dev.asks, or inside a call on one of the device's streams
	stream     *streamState // nil while it is spare
	place      int          // index in dev.events.live

	// round counts the records; only the owner of the sole reference changes it. ended is the latest round whose result
	// is known, and err is that result, written before ended.
	round   uint64
	bridges uint64 // the number of the stream's bridges made before the record
	ended   atomic.Uint64
	err     error

	// early is a failure of the stream's work that the driver told this package before the record, and this package not yet the program. The
	// driver's event does not tell it again (ForgetsToldFailures of driver.FailureKeeper).
	early error

	users atomic.Int64 // references; stays 1 while the event is spare, which saves atomic operations

	unanswered unanswered

	mu         sync.Mutex
	watched    watching
	unwaitable bool          // a driver's call that should wait for the event has failed in this round
	polled     int           // index in dev.watch.events
	over       chan struct{} // closed at the end of the round; nil until a goroutine waits for it
	waiters    int           // goroutines that wait for over
	gates      []*bridge     // opened at the end of the round
	fns        []func(error) // called at the end of the round, by the watch
}

// Describe implements life.Thing.
func (e *eventState) Describe() string { return "event" }

// Leaked implements life.Thing.
func (e *eventState) Leaked() {
	e.dev.Report(e.Describe())
	e.dev.Retire(&e.Child, nil)
	e.dev.Reaper.Add(func() bool { return true }, e.release)
}

// event records an event and returns it with one reference.
func (s *Stream) event(op string) (*eventState, error) {
	st := s.state()
	if err := st.begin(op); err != nil {
		return nil, err
	}
	e, err := st.event(false)
	st.Leave()
	return e, err
}

func (s *streamState) event(timing bool) (*eventState, error) {
	e, err := s.dev.takeEvent(timing)
	if err != nil {
		return nil, err
	}
	if err := s.record(e); err != nil {
		e.release()
		return nil, err
	}
	return e, nil
}

// record makes e stand for the stream's work so far. The caller owns its sole reference.
func (s *streamState) record(e *eventState) error {
	if err := s.drv.Record(e.drv); err != nil {
		return s.dev.check(err)
	}
	e.stream, e.bridges, e.err, e.early, e.unwaitable = s, s.over.made.Load(), nil, nil, false
	if n := s.untold.Load(); n != nil && n.work && s.dev.forgets {
		e.early = n.err
	}
	e.round++
	return nil
}

func (e *eventState) retain() { e.users.Add(1) }

func (e *eventState) release() {
	if e.users.Load() != 1 { // if it is 1, no other goroutine has a reference that it could retain
		if e.users.Add(-1) > 0 {
			return
		}
		e.users.Store(1)
	}
	e.dev.putEvent(e)
}

// known reports whether the result of the event's work is stored.
func (e *eventState) known() bool { return e.ended.Load() == e.round }

// done reports whether the event's work has finished, and its error if it failed.
func (e *eventState) done() (bool, error) {
	if e.known() {
		return true, e.err
	}
	if !e.dev.asks.Enter() {
		return e.known(), e.err // Device.Close has stored the result
	}
	done, err := e.ask()
	e.dev.asks.Leave()
	if !done {
		return false, nil
	}
	e.settle(err)
	return true, e.err
}

// ask asks the driver whether the work is done, and how it has ended. The caller is inside dev.asks.
func (e *eventState) ask() (done bool, err error) { return e.dev.ask(e.drv, &e.unanswered) }

// await waits for the work in a driver's call, and reports whether the result of the work is stored now. If not, the call has failed. The caller is
// inside dev.asks.
func (e *eventState) await() bool {
	err := e.drv.Sync()
	if err != nil {
		var done bool
		if done, err = e.ask(); !done {
			return false
		}
	}
	e.settle(err)
	return true
}

// doneAlone is done for a caller who has the only reference, and uses it on this goroutine alone. Then nobody waits for the event, and a result
// without an error is stored without the lock. Device.Close may store the same result meanwhile.
func (e *eventState) doneAlone() (bool, error) {
	if e.users.Load() != 1 || e.known() || !e.dev.asks.Enter() {
		return e.done()
	}
	done, err := e.ask()
	e.dev.asks.Leave()
	switch {
	case !done:
		return false, nil
	case err == nil && e.early == nil:
		e.ended.Store(e.round)
		return true, nil
	}
	e.settle(err)
	return true, e.err
}

// settle stores the result of the event's work, unless it is known, and wakes the waiters.
func (e *eventState) settle(err error) {
	e.mu.Lock()
	gates := e.finish(err)
	e.mu.Unlock()
	for _, b := range gates {
		b.open()
	}
}

// finish is settle with e.mu held. It returns the gates, which the caller opens after unlocking.
func (e *eventState) finish(err error) []*bridge {
	if e.known() {
		return nil
	}
	if err != nil {
		e.err = e.dev.check(e.stream.blame(err))
	} else {
		e.err = e.early
	}
	e.ended.Store(e.round)
	if e.over != nil {
		close(e.over)
		e.over = nil
	}
	e.waiters = 0
	gates := e.gates
	e.gates = nil
	return gates
}

// wait waits like Event.Sync, and also reports whether the work has finished.
func (e *eventState) wait(ctx context.Context, op string) (over bool, err error) {
	if e.known() {
		return true, e.err
	}
	e.stream.over.help(ctx, e.bridges)
	if ctx.Done() == nil && e.dev.watch.inline(e) {
		return true, e.err
	}
	if ctx.Err() != nil {
		return false, interrupted(op, ctx)
	}
	if done, err := e.done(); done {
		return true, err
	}
	e.mu.Lock()
	if e.known() {
		e.mu.Unlock()
		return true, e.err
	}
	if e.over == nil {
		e.over = make(chan struct{})
	}
	ch := e.over
	e.waiters++
	e.dev.watch.add(e)
	e.mu.Unlock()
	select {
	case <-ch:
		return true, e.err
	case <-ctx.Done():
	}
	e.mu.Lock()
	unused := false
	if !e.known() {
		e.waiters--
		unused = e.dev.watch.unused(e)
	}
	e.mu.Unlock()
	if unused {
		e.release() // the list's reference
	}
	return false, interrupted(op, ctx)
}

// onDone makes the watch call fn with the result of the event's work.
func (e *eventState) onDone(fn func(error)) {
	e.mu.Lock()
	e.fns = append(e.fns, fn)
	e.dev.watch.poll(e)
	e.mu.Unlock()
}

// wait makes later work of s wait for the event.
func (s *Stream) wait(e *eventState) error {
	st := s.state()
	if err := st.begin("wait"); err != nil {
		return err
	}
	defer st.Leave()
	if e.stream == st || e.known() && e.err == nil {
		return nil
	}
	if e.dev == st.dev {
		return st.dev.check(st.drv.Wait(e.drv))
	}
	if e.dev.asks.Enter() {
		linked := st.dev.links(e.dev, driver.PeerWait)
		var err error
		if linked {
			err = st.dev.check(st.drv.Wait(e.drv))
		}
		e.dev.asks.Leave()
		if linked {
			return err
		}
	}
	if done, _ := e.done(); done {
		return nil
	}
	if !st.gates() {
		_, _ = e.wait(context.Background(), "wait")
		return nil
	}
	return st.bridge(e)
}

// events are the events of one device, guarded by the device's lock.
type events struct {
	live  []*eventState    // in use
	spare [2][]*eventState // to be reused: without timing, with timing

	// peak is the largest number of events in use at once in this period, last that of the period before. The device keeps as
	// many events as the larger of the two, spare ones included. releases counts the releases of this period; the next one
	// begins after about 2*last releases.
	peak, last, releases int
}

// eventsLeast is the number of events that a device keeps at least.
const eventsLeast = 64

func index(timing bool) int {
	if timing {
		return 1
	}
	return 0
}

func (s *deviceState) takeEvent(timing bool) (*eventState, error) {
	es := &s.events
	spare := &es.spare[index(timing)]
	s.mu.Lock()
	if n := len(*spare); n > 0 {
		e := (*spare)[n-1]
		(*spare)[n-1] = nil
		*spare = (*spare)[:n-1]
		es.lend(e)
		s.mu.Unlock()
		return e, nil
	}
	s.mu.Unlock()
	return s.newEvent(timing)
}

// newEvent is takeEvent with a new driver event.
func (s *deviceState) newEvent(timing bool) (*eventState, error) {
	drv, err := s.drv.NewEvent(driver.EventOptions{Timing: timing})
	if err != nil {
		return nil, s.check(err)
	}
	e := &eventState{dev: s, drv: drv, timing: timing}
	e.shared = Event{s: e, dev: s.common}
	e.users.Store(1)
	s.mu.Lock()
	s.events.lend(e)
	s.mu.Unlock()
	return e, nil
}

func (es *events) lend(e *eventState) {
	e.place = len(es.live)
	es.live = append(es.live, e)
	es.peak = max(es.peak, len(es.live))
}

// putEvent takes an event back after its last release.
func (s *deviceState) putEvent(e *eventState) {
	es := &s.events
	s.mu.Lock()
	if e.place >= len(es.live) || es.live[e.place] != e { // the device is closed
		s.mu.Unlock()
		return
	}
	n := len(es.live) - 1
	es.live[e.place] = es.live[n]
	es.live[e.place].place = e.place
	es.live[n] = nil
	es.live = es.live[:n]
	if es.releases++; es.releases > 2*max(es.last, eventsLeast) {
		es.last, es.peak, es.releases = es.peak, n, 0
	}
	e.stream = nil
	if n+len(es.spare[0])+len(es.spare[1]) < max(es.peak, es.last, eventsLeast) || !s.asks.Enter() {
		es.keep(e)
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	s.closeEvents([]*eventState{e})
	s.asks.Leave()
}

func (es *events) keep(e *eventState) {
	spare := &es.spare[index(e.timing)]
	*spare = append(*spare, e)
}

// closeEvents closes the driver's events behind unused events. An event whose work is under way is kept as a spare one.
func (s *deviceState) closeEvents(list []*eventState) {
	for _, e := range list {
		// Nobody has the event any more, so the result is not stored, and an error is no concern of anybody.
		if done, _ := e.ask(); done {
			_ = e.drv.Close()
			continue
		}
		s.mu.Lock()
		s.events.keep(e)
		s.mu.Unlock()
	}
}

// trimEvents closes the driver's events behind spare events.
func (s *deviceState) trimEvents() {
	if !s.asks.Enter() {
		return
	}
	defer s.asks.Leave()
	s.mu.Lock()
	es := &s.events
	spare := append(es.spare[0], es.spare[1]...)
	es.spare = [2][]*eventState{}
	es.peak, es.last, es.releases = len(es.live), 0, 0
	s.mu.Unlock()
	s.closeEvents(spare)
}

// endEvents stores the result of every event and closes the driver's events. The device has no streams any more, so no event is
// recorded meanwhile.
func (s *deviceState) endEvents() {
	s.mu.Lock()
	live := s.events.live
	s.events.live = nil
	s.mu.Unlock()
	for _, e := range live {
		for done, _ := e.done(); !done && !e.await(); {
			time.Sleep(pollLatest) // the driver's call has failed
		}
	}
	s.asks.Shut() // only functions that the watch has to call remain
	s.watch.drain()
	for _, list := range [...][]*eventState{live, s.events.spare[0], s.events.spare[1]} {
		for _, e := range list {
			_ = e.drv.Close()
		}
	}
	s.events.spare = [2][]*eventState{}
}
