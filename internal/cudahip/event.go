package cudahip

import (
	"sync/atomic"
	"time"

	"github.com/go-halyard/halyard/hal/driver"
)

// Event implements driver.Event and driver.Timer.
type Event struct {
	dev    *Device
	handle uintptr
	timing bool

	// recorded says that Record recorded the event, or that the program has its handle and may have recorded it. An
	// event that was never recorded counts as done. The vendor is not queried for it, since old versions of chipStar
	// report such an event as not ready for ever.
	recorded atomic.Bool
}

// Query implements driver.Event.
func (e *Event) Query() (bool, error) {
	d := e.dev
	if !e.recorded.Load() {
		return true, nil
	}
	code := d.api.EventQuery(d.ctx, e.handle)
	return d.finished("query event", CallEventQuery, code)
}

// finished converts the result of a vendor's query to that of driver.Event.Query. Errors of work are sticky, so that the device counts as lost
// and its work has ended; another error is one of the call.
func (d *Device) finished(op string, c Call, code Code) (bool, error) {
	switch code {
	case Success:
		d.calls.observe()
		return true, nil
	case CodeNotReady:
		return false, nil
	}
	err := d.fail(op, c, code)
	return err.Kind == driver.ErrDeviceLost, err
}

// Sync implements driver.Event. The calling thread sleeps until the event is done.
func (e *Event) Sync() error {
	d := e.dev
	if !e.recorded.Load() {
		return nil
	}
	code := d.api.EventSync(d.ctx, e.handle)
	d.calls.observe()
	return d.check("sync event", CallEventSync, code)
}

// Close implements driver.Event.
func (e *Event) Close() error {
	return e.dev.give(CallEventDestroy, API.EventDestroy, e.handle)
}

// Elapsed implements driver.Timer. The vendors measure the time only between events of the same
// context.
func (e *Event) Elapsed(since driver.Event) (time.Duration, error) {
	const op = "elapsed time"
	d := e.dev
	from, ok := since.(*Event)
	switch {
	case !ok || from.dev.lib != d.lib || from.dev.ctx != d.ctx:
		return 0, d.refuse(op, driver.ErrWrongDevice, "the events belong to different devices")
	case !e.timing || !from.timing:
		return 0, d.refuse(op, driver.ErrInvalidArgument, "an event was made without Timing")
	}
	ms, code := d.api.EventElapsed(d.ctx, from.handle, e.handle)
	if code != Success {
		return 0, d.fail(op, CallEventElapsed, code)
	}
	return time.Duration(float64(ms) * float64(time.Millisecond)), nil
}

// EventHandle returns the vendor's event.
func EventHandle(e driver.Event) uintptr {
	ev := e.(*Event)
	ev.recorded.Store(true)
	return ev.handle
}
