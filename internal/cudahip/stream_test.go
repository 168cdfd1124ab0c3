package cudahip

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal/driver"
)

// lostAPI is an API whose device is lost while a host call is enqueued: all host calls are abandoned, and then the call fails.
type lostAPI struct {
	API
	calls *hostCalls
}

func (a *lostAPI) HostCall(Context, uintptr, func()) (uintptr, Code) {
	if a.calls != nil {
		a.calls.abandon(nil)
	}
	return 0, CodeInvalidValue
}

// A function that was abandoned while it was enqueued is called in its place, so enqueue reports no error; a function that enqueue refuses
// is not called.
func TestAbandonedWhileEnqueued(t *testing.T) {
	var c hostCalls
	called := make(chan struct{}, 1)
	lost := func() { called <- struct{}{} }
	if code := c.enqueue(&Stream{api: &lostAPI{calls: &c}}, nil, lost); code != Success {
		t.Errorf("abandoned: code %d, although lost is called", code)
	}
	<-called
	if code := c.enqueue(&Stream{api: &lostAPI{}}, nil, lost); code != CodeInvalidValue {
		t.Errorf("refused: code %d", code)
	}
	if code := c.enqueue(&Stream{api: &lostAPI{calls: &c}}, nil, nil); code != CodeInvalidValue {
		t.Errorf("abandoned with nothing to call: code %d", code)
	}
	c.abandon(nil)
	if len(c.open) != 0 || len(called) != 0 {
		t.Errorf("refused: %d open, %d called", len(c.open), len(called))
	}
}

// eventAPI has events whose work is done at a later question.
type eventAPI struct {
	API
	flags        uint32
	asked, slept int
}

func (f *eventAPI) EventCreate(_ Context, flags uint32) (uintptr, Code) {
	f.flags = flags
	return 1, Success
}
func (f *eventAPI) EventSync(Context, uintptr) Code { f.slept++; return Success }

func (f *eventAPI) EventQuery(Context, uintptr) Code {
	if f.asked++; f.asked < 100 {
		return CodeNotReady
	}
	return Success
}

// Only a vendor whose events are not polled gets events on which threads sleep.
func TestPolledEvents(t *testing.T) {
	for _, polled := range []bool{true, false} {
		api := &eventAPI{}
		d := &Device{lib: &library{vendor: &Vendor{PolledEvents: polled}}, api: api}
		e, err := d.NewEvent(driver.EventOptions{})
		require.NoError(t, err)
		e.(*Event).recorded.Store(true)
		require.NoError(t, e.Sync())
		if polled {
			require.Equal(t, eventAPI{flags: eventNoTiming, asked: 100}, *api)
			require.True(t, d.eager.TryLock(), "the next wait may be eager")
		} else {
			require.Equal(t, eventAPI{flags: eventNoTiming | eventBlocking, slept: 1}, *api)
		}
	}
}

// While one wait asks without a pause, others sleep between their questions.
func TestOneEagerWait(t *testing.T) {
	d := &Device{lib: &library{vendor: &Vendor{PolledEvents: true}}, api: &eventAPI{}}
	e, err := d.NewEvent(driver.EventOptions{})
	require.NoError(t, err)
	e.(*Event).recorded.Store(true)
	d.eager.Lock()
	start := time.Now()
	require.NoError(t, e.Sync())
	require.GreaterOrEqual(t, time.Since(start), 99*10*time.Microsecond)
	require.False(t, d.eager.TryLock())
}
