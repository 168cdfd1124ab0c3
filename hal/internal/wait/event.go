package wait

import (
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
	Outer any // what package hal makes of the event; set once, by Device.Outer

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

	// early is a failure of the stream's work that the driver reported to this package before the record, and this package not yet to the
	// program. The driver's event does not report it again (ForgetsToldFailures of driver.FailureKeeper).
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
			return 0, x.dev.Failure(op, driver.ErrClosed, "the device is closed") // the event was closed during this call, and then its device
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
