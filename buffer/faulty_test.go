package buffer_test

import (
	"errors"
	"runtime"
	"strings"
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
	lag    int         // how many operations a failure outlasts that follow the event behind it
}

// fault is how a stream's operations failed, or the operations that an event was recorded behind. A failure outlasts later operations, for other
// goroutines may enqueue some before the one whose operation failed records an event, however long it does not run.
type fault struct {
	mu   sync.Mutex
	err  error
	left int            // how many operations err outlasts, once no goroutine owes an event
	owed map[string]int // by goroutine, the number of its failure that it has not yet recorded an event behind
	last int            // the number of the last failure
}

func (f *fault) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// fail sets the failure of an operation. If lag is not 0 it outlasts that many others after the calling goroutine's next event.
func (f *fault) fail(err error, lag int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err, f.left = err, lag
	if lag > 0 {
		if f.owed == nil {
			f.owed = map[string]int{}
		}
		f.last++
		f.owed[goroutine()] = f.last
	}
}

// pass sets the success of an operation.
func (f *fault) pass() {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case len(f.owed) > 0:
	case f.left > 0:
		f.left--
	default:
		f.err = nil
	}
}

// recorded returns what an event stands for that the calling goroutine records.
func (f *fault) recorded() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.owed) > 0 && !copiesAcross() {
		delete(f.owed, goroutine())
	}
	return f.err
}

// copiesAcross reports whether the caller records for a copy from one device to the other by way of the host. Such a copy only waits for its events;
// whether its work failed is told by those that are recorded behind the whole copy.
func copiesAcross() bool {
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		if strings.Contains(f.Function, "hal.(*passage).") {
			return true
		}
		if !more {
			return false
		}
	}
}

func (f *fault) get() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// goroutine names the calling goroutine.
func goroutine() string {
	var stack [64]byte
	name, _, _ := strings.Cut(string(stack[:runtime.Stack(stack[:], false)]), "[")
	return name
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
			e.Data.(*fault).set(s.Data.(*fault).recorded())
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
