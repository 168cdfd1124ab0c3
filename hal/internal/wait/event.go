package wait

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-halyard/halyard/hal/driver"
)

// Event stands for a stream's work up to one point. It refers to a driver's event. References are counted: after the
// last Release its device records it again for another purpose.
//
// An Event does not keep its device open: closing the device waits for the event's work and stores its result.
type Event struct {
	Outer any // package hal's own object for the event; set once, by Device.Outer

	dev    *Device
	timing bool
	drv    driver.Event // used only inside dev.calls, or inside a call on one of the device's streams
	stream *Stream      // nil while it is spare
	place  int          // index in dev.events.live

	// round counts the records; only the holder of the sole reference changes it. ended is the latest round whose result
	// is known, and err is that result, written before ended.
	round  uint64
	before uint64 // the number of the stream's bridges made before the record
	ended  atomic.Uint64
	err    error

	// early is a failure of the stream's work that the driver reported to this package before the record, and that the program has not been
	// told yet. The driver's event does not report it again (ForgetsToldFailures of driver.FailureKeeper).
	early error

	users atomic.Int64 // references; stays 1 while the event is spare, which saves atomic operations

	unanswered unanswered

	mu         sync.Mutex
	watched    watching
	unwaitable bool          // a driver's call that should wait for the event has failed in this round
	polled     int           // index in dev.watch.events
	over       chan struct{} // closed at the end of the round; nil until a goroutine waits for it
	waiters    int           // goroutines that wait for over
	bridges    []*bridge     // opened at the end of the round
	fns        []func(error) // called at the end of the round, by the watch
}

// Device returns the device of the event.
func (e *Event) Device() *Device { return e.dev }

// Stream returns the stream on which the event was recorded.
func (e *Event) Stream() *Stream { return e.stream }

// Timing reports whether the event takes a time stamp.
func (e *Event) Timing() bool { return e.timing }

// Sole reports whether there is only one reference.
func (e *Event) Sole() bool { return e.users.Load() == 1 }

// Retain adds a reference.
func (e *Event) Retain() { e.users.Add(1) }

// Release takes a reference away.
func (e *Event) Release() {
	if e.users.Load() != 1 { // if it is 1, no other goroutine has a reference that it could retain
		if e.users.Add(-1) > 0 {
			return
		}
		e.users.Store(1)
	}
	e.dev.giveBack(e)
}

// Known reports whether the result of the event's work is stored.
func (e *Event) Known() bool { return e.ended.Load() == e.round }

// Done reports whether the event's work has finished, and its error if it failed.
func (e *Event) Done() (bool, error) {
	if e.ended.Load() == e.round {
		return true, e.err
	}
	if !e.dev.calls.Enter() {
		return e.Known(), e.err // EndEvents has stored the result
	}
	done, err := e.dev.ask(e.drv, &e.unanswered)
	e.dev.calls.Leave()
	if !done {
		return false, nil
	}
	e.setResult(err)
	return true, e.err
}

// DoneAlone is Done for a caller who has the only reference, and uses it on this goroutine alone. Then nobody waits for the event, and a
// result without an error is stored without the lock. EndEvents may store the same result meanwhile.
func (e *Event) DoneAlone() (bool, error) {
	if e.users.Load() != 1 || e.Known() || !e.dev.calls.Enter() {
		return e.Done()
	}
	done, err := e.ask()
	e.dev.calls.Leave()
	switch {
	case !done:
		return false, nil
	case err == nil && e.early == nil:
		e.ended.Store(e.round)
		return true, nil
	}
	e.setResult(err)
	return true, e.err
}

// ask asks the driver whether the work is done, and how it has ended. The caller is inside dev.calls.
func (e *Event) ask() (done bool, err error) { return e.dev.ask(e.drv, &e.unanswered) }

// block waits for the work in a driver's call, and reports whether the result of the work is stored now. If not, the call has failed. The
// caller is inside dev.calls.
func (e *Event) block() bool {
	err := e.drv.Sync()
	if err != nil {
		var done bool
		if done, err = e.ask(); !done {
			return false
		}
	}
	e.setResult(err)
	return true
}

// setResult stores the result of the event's work, unless it is known, and wakes the waiters.
func (e *Event) setResult(err error) {
	e.mu.Lock()
	bridges := e.setResultLocked(err)
	e.mu.Unlock()
	for _, b := range bridges {
		b.open()
	}
}

// setResultLocked is setResult with e.mu held. It returns the bridges, which the caller opens after unlocking.
func (e *Event) setResultLocked(err error) []*bridge {
	if e.ended.Load() == e.round {
		return nil
	}
	if err != nil {
		e.err = e.dev.Check(e.stream.outer.Blame(err))
	} else {
		e.err = e.early
	}
	e.ended.Store(e.round)
	if e.over != nil {
		close(e.over)
		e.over = nil
	}
	e.waiters = 0
	bridges := e.bridges
	e.bridges = nil
	return bridges
}

// Wait waits until the event's work has finished, and returns its error. over is false if ctx has ended first.
func (e *Event) Wait(ctx context.Context, op string) (over bool, err error) {
	if e.Known() {
		return true, e.err
	}
	e.stream.bridges.help(ctx, e.before)
	if ctx.Done() == nil && e.dev.watch.inline(e) {
		return true, e.err
	}
	if ctx.Err() != nil {
		return false, Interrupted(op, ctx)
	}
	if done, err := e.Done(); done {
		return true, err
	}
	e.mu.Lock()
	if e.Known() {
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
	if !e.Known() {
		e.waiters--
		unused = e.dev.watch.unused(e)
	}
	e.mu.Unlock()
	if unused {
		e.Release() // the list's reference
	}
	return false, Interrupted(op, ctx)
}

// OnDone makes the watch call fn with the result of the event's work. fn must not block.
func (e *Event) OnDone(fn func(error)) {
	e.mu.Lock()
	e.fns = append(e.fns, fn)
	e.dev.watch.poll(e)
	e.mu.Unlock()
}

// Elapsed returns the device's time between two events. Both were recorded with timing, and the devices link their events.
func (e *Event) Elapsed(op string, since *Event) (time.Duration, error) {
	for _, x := range [...]*Event{e, since} {
		if !x.dev.calls.Enter() {
			// the event was closed during this call, and then its device
			return 0, x.dev.Failure(op, driver.ErrClosed, "the device is closed")
		}
		defer x.dev.calls.Leave()
	}
	t, ok := e.drv.(driver.Timer)
	if !ok {
		return 0, e.dev.Failure(op, driver.ErrUnsupported, "event timing is not supported")
	}
	d, err := t.Elapsed(since.drv)
	return d, e.dev.Check(err)
}

// events are the events of one device, guarded by the device's lock.
type events struct {
	live  []*Event    // in use
	spare [2][]*Event // to be reused: without timing, with timing

	// peak is the largest number of events in use at once in this period, and last is the peak of the period before. The
	// device keeps as many events as the larger of the two, spare ones included. releases counts the releases of this period;
	// the next period begins after about 2*last releases.
	peak, last, releases int
}

// eventsLeast is the number of events that a device keeps at least.
const eventsLeast = 64

// lend returns an event that is in use from now on: a spare one, or a new one.
func (d *Device) lend(timing bool) (e *Event, err error) {
	es := &d.events
	spare := &es.spare[0]
	if timing {
		spare = &es.spare[1]
	}
	d.mu.Lock()
	if n := len(*spare); n > 0 {
		e = (*spare)[n-1]
		(*spare)[n-1] = nil
		*spare = (*spare)[:n-1]
	} else {
		d.mu.Unlock()
		if e, err = d.newEvent(timing); err != nil {
			return nil, err
		}
		d.mu.Lock()
	}
	e.place = len(es.live)
	es.live = append(es.live, e)
	es.peak = max(es.peak, len(es.live))
	d.mu.Unlock()
	return e, nil
}

// newEvent returns a new event of the driver's.
func (d *Device) newEvent(timing bool) (*Event, error) {
	drv, err := d.Drv.NewEvent(driver.EventOptions{Timing: timing})
	if err != nil {
		return nil, d.Check(err)
	}
	e := &Event{dev: d, drv: drv, timing: timing}
	d.Outer(e)
	e.users.Store(1)
	return e, nil
}

// giveBack takes an event back after its last Release.
func (d *Device) giveBack(e *Event) {
	es := &d.events
	d.mu.Lock()
	if e.place >= len(es.live) || es.live[e.place] != e { // the device is closed
		d.mu.Unlock()
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
	if n+len(es.spare[0])+len(es.spare[1]) < max(es.peak, es.last, eventsLeast) || !d.calls.Enter() {
		es.keep(e)
		d.mu.Unlock()
		return
	}
	d.mu.Unlock()
	d.closeEvents([]*Event{e})
	d.calls.Leave()
}

func (es *events) keep(e *Event) {
	spare := &es.spare[0]
	if e.timing {
		spare = &es.spare[1]
	}
	*spare = append(*spare, e)
}

// closeEvents closes the driver's events behind unused events. An event whose work is under way is kept as a spare one.
func (d *Device) closeEvents(list []*Event) {
	for _, e := range list {
		// Nobody uses the event any more, so neither its result nor an error is stored.
		if done, _ := e.ask(); done {
			_ = d.Check(e.drv.Close()) // there is no call that could return the error; Check notes a lost device
			continue
		}
		d.mu.Lock()
		d.events.keep(e)
		d.mu.Unlock()
	}
}

// TrimEvents closes the driver's events behind spare events.
func (d *Device) TrimEvents() {
	if !d.calls.Enter() {
		return
	}
	defer d.calls.Leave()
	d.mu.Lock()
	es := &d.events
	spare := append(es.spare[0], es.spare[1]...)
	es.spare = [2][]*Event{}
	es.peak, es.last, es.releases = len(es.live), 0, 0
	d.mu.Unlock()
	d.closeEvents(spare)
}

// EndEvents stores the result of every event and closes the driver's events. The device has no streams any more, so no event is
// recorded meanwhile. The error is the first one that the driver returned while it closed them.
func (d *Device) EndEvents() (err error) {
	d.mu.Lock()
	live := d.events.live
	d.events.live = nil
	d.mu.Unlock()
	for _, e := range live {
		for done, _ := e.Done(); !done && !e.block(); {
			time.Sleep(pollLatest) // the driver's call has failed
		}
	}
	d.calls.Shut() // only functions that the watch has to call remain
	d.watch.drain()
	for _, list := range [...][]*Event{live, d.events.spare[0], d.events.spare[1]} {
		for _, e := range list {
			err = cmp.Or(err, d.Check(e.drv.Close()))
		}
	}
	d.events.spare = [2][]*Event{}
	return err
}
