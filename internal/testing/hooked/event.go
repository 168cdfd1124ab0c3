package hooked

import (
	"time"

	"github.com/go-halyard/halyard/hal/driver"
)

// Event is an event of the layer.
type Event struct {
	driver.Event
	Device *Device
	Data   any // for the hooks' own use
}

// Query implements driver.Event.
func (e *Event) Query() (bool, error) {
	if err := e.Device.ask("Query event"); err != nil {
		return false, err
	}
	if f := e.Device.Layer.QueryEvent; f != nil {
		return f(e)
	}
	return e.Event.Query()
}

// Sync implements driver.Event.
func (e *Event) Sync() error {
	if err := e.Device.ask("Sync event"); err != nil {
		return err
	}
	if f := e.Device.Layer.SyncEvent; f != nil {
		return f(e)
	}
	return e.Event.Sync()
}

// PlainElapsed is the time between the events below.
func (e *Event) PlainElapsed(since *Event) (time.Duration, error) {
	t, ok := e.Event.(driver.Timer)
	if !ok {
		return 0, e.Device.lacks("Elapsed")
	}
	return t.Elapsed(since.Event)
}

// Elapsed implements driver.Timer.
func (e *Event) Elapsed(since driver.Event) (time.Duration, error) {
	if err := e.Device.ask("Elapsed"); err != nil {
		return 0, err
	}
	if f := e.Device.Layer.Elapsed; f != nil {
		return f(e, since.(*Event))
	}
	return e.PlainElapsed(since.(*Event))
}

// Close implements driver.Event.
func (e *Event) Close() error {
	return e.Device.release("Close event", func() error {
		if f := e.Device.Layer.CloseEvent; f != nil {
			return f(e)
		}
		return e.Event.Close()
	})
}
