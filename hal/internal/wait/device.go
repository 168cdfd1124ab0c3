package wait

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/hal/internal/life"
)

// Device is a device as far as waiting needs it: the driver's device, its events, and whether it was lost.
type Device struct {
	Drv  driver.Device
	Info driver.Info

	// KeepsFailures is EventsKeepFailures of driver.FailureKeeper.
	KeepsFailures bool

	// Outer is called for each new event, to set its Outer.
	Outer func(*Event)

	frees   *life.Frees
	forgets bool // ForgetsToldFailures of driver.FailureKeeper
	lost    atomic.Pointer[driver.Error]
	watch   watch
	calls   life.Calls // of the driver's events; they end before the device is closed

	mu     sync.Mutex // guards events
	events events
}

// Init prepares a device that is open.
func (d *Device) Init(drv driver.Device, info driver.Info, f *life.Frees) {
	d.Drv, d.Info, d.frees = drv, info, f
	if k, ok := drv.(driver.FailureKeeper); ok {
		d.KeepsFailures = k.EventsKeepFailures()
		d.forgets = d.KeepsFailures && k.ForgetsToldFailures()
	}
	d.watch.init()
}

// Failure returns an error of the given kind that belongs to the device.
func (d *Device) Failure(op string, kind error, format string, args ...any) error {
	return &driver.Error{Op: op, Backend: d.Info.Backend, Device: d.Info.Ordinal, Kind: kind, Detail: fmt.Sprintf(format, args...)}
}

// Interrupted returns the error of an operation that gave up because ctx ended: of kind ErrNotReady, wrapping the context's cause.
func Interrupted(op string, ctx context.Context) error {
	return &driver.Error{Op: op, Device: -1, Kind: driver.ErrNotReady, Err: context.Cause(ctx)}
}

// isKind is errors.Is for an error that is known to be a *driver.Error, if it has a kind.
func isKind(err, kind error) bool {
	e, ok := err.(*driver.Error)
	return ok && e.Kind == kind
}

// Check returns the driver's error unchanged. If the error says that the device is lost, Check notes that.
func (d *Device) Check(err error) error {
	if err != nil && isKind(err, driver.ErrDeviceLost) {
		lost := &driver.Error{Op: "use", Backend: d.Info.Backend, Device: d.Info.Ordinal, Kind: driver.ErrDeviceLost, Err: err}
		d.lost.CompareAndSwap(nil, lost)
	}
	return err
}

// Lost returns the error of calls on the device if it was lost, else nil.
func (d *Device) Lost() error {
	if lost := d.lost.Load(); lost != nil {
		return lost
	}
	return nil
}

// Links reports whether streams of d can use objects of the other device in the wanted way.
func (d *Device) Links(other *Device, want driver.PeerAccess) bool {
	if d == other {
		return true
	}
	l, ok := d.Drv.(driver.Peering)
	return ok && d.Info.Backend == other.Info.Backend && l.PeerAccess(other.Drv)&want == want
}

// Sweep polls the events that are waited for.
func (d *Device) Sweep() { d.watch.sweep() }

type querier interface{ Query() (done bool, err error) }

// unanswered counts the questions about one object that the driver failed to answer, one after another.
type unanswered struct{ n atomic.Uint32 }

// patience is how many questions in a row a driver may fail to answer. An event that somebody waits for is asked about once in two
// milliseconds.
const patience = 500

// ask calls Query. err is not nil only if done is true: then the work has failed. If the driver has lost the patience of this package, the
// device counts as lost.
func (d *Device) ask(q querier, u *unanswered) (done bool, err error) {
	done, err = q.Query()
	switch {
	case done || err == nil:
		if u.n.Load() != 0 {
			u.n.Store(0)
		}
		return done, err
	case isKind(err, driver.ErrDeviceLost) || d.lost.Load() != nil || u.n.Add(1) >= patience:
		return true, d.Check(d.giveUp(err))
	}
	return false, nil
}

// giveUp turns the driver's answer into the error of a device that can no longer say whether its work is done.
func (d *Device) giveUp(err error) error {
	if isKind(err, driver.ErrDeviceLost) {
		return err
	}
	lost := &driver.Error{Op: "query", Backend: d.Info.Backend, Device: d.Info.Ordinal, Kind: driver.ErrDeviceLost,
		Detail: "the driver fails to say whether work is done"}
	if v, ok := err.(*driver.Error); ok {
		lost.Vendor = v.Vendor // not the error itself, which is of another kind
	} else {
		lost.Err = err
	}
	return lost
}

// events are the events of one device, guarded by the device's lock.
type events struct {
	live  []*Event    // in use
	spare [2][]*Event // to be reused: without timing, with timing

	// peak is the largest number of events in use at once in this period, last that of the period before. The device keeps as
	// many events as the larger of the two, spare ones included. releases counts the releases of this period; the next one
	// begins after about 2*last releases.
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
		// Nobody has the event any more, so the result is not stored, and an error is no concern of anybody.
		if done, _ := e.ask(); done {
			_ = e.drv.Close()
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
// recorded meanwhile.
func (d *Device) EndEvents() {
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
			_ = e.drv.Close()
		}
	}
	d.events.spare = [2][]*Event{}
}
