package template

import (
	"sync"
	"time"

	"github.com/go-halyard/halyard/hal/driver"
)

// event stands for a point in a stream. It can be recorded again and again.
type event struct {
	dev *device

	mu sync.Mutex
	at *point // nil if never recorded
}

var (
	_ driver.Event = (*event)(nil)
	_ driver.Timer = (*event)(nil)
)

// NewEvent implements driver.Device. The options ask for timing only with CapTiming. They exist because a vendor's events
// can be cheaper without it.
func (d *device) NewEvent(driver.EventOptions) (driver.Event, error) {
	if err := d.check("new event", "markCreate", d.card.lib.call("markCreate")); err != nil {
		return nil, err
	}
	return &event{dev: d}, nil
}

func (e *event) set(p *point) {
	e.mu.Lock()
	e.at = p
	e.mu.Unlock()
}

func (e *event) get() *point {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.at
}

// Query implements driver.Event. It never waits. An event that was never recorded is done. If the work failed, the event is
// done, and every call returns the error.
func (e *event) Query() (bool, error) {
	switch p := e.get(); {
	case p == nil:
		return true, nil
	case !p.reached():
		return false, nil
	default:
		return true, p.failure.tell()
	}
}

// Sync implements driver.Event: it waits for the work, and returns its error.
func (e *event) Sync() error {
	p := e.get()
	if p == nil {
		return nil
	}
	<-p.done
	return p.failure.tell()
}

// Elapsed implements driver.Timer (CapTiming): the device's time, which is never negative in one stream. Both events
// have been recorded.
func (e *event) Elapsed(since driver.Event) (time.Duration, error) {
	to, from := e.get(), since.(*event).get()
	if !to.reached() || !from.reached() {
		return 0, e.dev.failure("elapsed", driver.ErrNotReady, "an event is not done")
	}
	return to.at.Sub(from.at), nil
}

// Close implements driver.Event. Package hal closes an event only when its work is done. Waits for the event that were
// enqueued before stay valid.
func (e *event) Close() error { return nil }
