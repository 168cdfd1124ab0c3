package buffer_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/testing/fixture"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

var errLate = errors.New("it failed when it ran")

// faulty is a host backend whose transfers fail on demand: late, so that only the event behind one tells.
type faulty struct {
	hooked.Backend
	mu   sync.Mutex
	next map[string]int // operations that are to fail, by name

	linked bool        // the devices reach each other
	odds   func() bool // whether a transfer is to fail, if it is set
	lag    int         // how many later operations of a stream a failure outlasts: other goroutines may enqueue some before the event is recorded
}

// fault is how a stream's last operation failed, or the operation that an event was recorded behind.
type fault struct {
	mu   sync.Mutex
	err  error
	left int // how many successes err outlasts
}

func (f *fault) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// fail sets the failure of an operation.
func (f *fault) fail(err error, lag int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err, f.left = err, lag
}

// pass sets the success of an operation.
func (f *fault) pass() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left > 0 {
		f.left--
	} else {
		f.err = nil
	}
}

func (f *fault) get() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

func newFaulty(o host.Options) *faulty {
	b := &faulty{next: map[string]int{}}
	b.Backend = hooked.Backend{
		Backend: host.New(o),
		Info: func(i driver.Info) driver.Info {
			i.Caps &= driver.CapAddress | driver.CapAsyncCopy | driver.CapOrderedPageable | driver.CapGate | driver.CapMemInfo
			return i
		},
		PeerAccess: func(d, other *hooked.Device) driver.PeerAccess {
			if !b.linked {
				return 0
			}
			return d.PlainPeerAccess(other)
		},
		NewStream: func(d *hooked.Device, o driver.StreamOptions) (*hooked.Stream, error) {
			s, err := d.PlainNewStream(o)
			if err == nil {
				s.Data = new(fault)
			}
			return s, err
		},
		NewEvent: func(d *hooked.Device, o driver.EventOptions) (*hooked.Event, error) {
			e, err := d.PlainNewEvent(o)
			if err == nil {
				e.Data = new(fault)
			}
			return e, err
		},
		Drop: func(s *hooked.Stream, op string) bool {
			if b.fails(op) {
				s.Data.(*fault).fail(errLate, b.lag)
				return true
			}
			s.Data.(*fault).pass()
			return false
		},
		Record: func(s *hooked.Stream, e *hooked.Event) error {
			e.Data.(*fault).set(s.Data.(*fault).get())
			return s.Stream.Record(e.Event)
		},
		QueryEvent: queryFaulty,
		SyncEvent: func(e *hooked.Event) error {
			if err := e.Event.Sync(); err != nil {
				return err
			}
			return e.Data.(*fault).get()
		},
	}
	return b
}

// fail makes the next n operations of that name fail when they run.
func (b *faulty) fail(op string, n int) {
	b.mu.Lock()
	b.next[op] = n
	b.mu.Unlock()
}

func (b *faulty) fails(op string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.odds != nil && b.odds() {
		return true
	}
	if b.next[op] == 0 {
		return false
	}
	b.next[op]--
	return true
}

func queryFaulty(e *hooked.Event) (bool, error) {
	done, err := e.Event.Query()
	if done && err == nil {
		err = e.Data.(*fault).get()
	}
	return done, err
}

// openFaulty opens discrete devices of one backend, none of which reaches another.
func openFaulty(tb testing.TB, n int) (b *faulty, devs []*hal.Device) {
	tb.Helper()
	b = newFaulty(host.Options{Name: "faulty", Discrete: n})
	for i := range n {
		d := fixture.Device(tb, b, i+1)
		devs = append(devs, d)
	}
	return b, devs
}
