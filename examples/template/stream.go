package template

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-halyard/halyard/hal/driver"
)

// stream is a queue of tasks that one goroutine works through, in order. The goroutine exists only while there is
// something to do. REPLACE it with the vendor's queue, if it has one: enqueue is then the vendor's call, and point
// the vendor's event.
type stream struct {
	dev *device

	mu      sync.Mutex
	queue   []task
	running bool
	last    *point   // behind the newest task, nil before the first
	fault   *failure // of a task, that Query and Sync have not returned yet
	carried *failure // the latest, which points report until somebody has been told
}

var (
	_ driver.Stream   = (*stream)(nil)
	_ driver.Gater    = (*stream)(nil)
	_ driver.Notifier = (*stream)(nil)
)

type task struct {
	run   func() error
	after *point
}

// failure is an error of work under way.
type failure struct {
	err  error
	told atomic.Bool // somebody has been given it
}

// tell returns the error, of nil none.
func (f *failure) tell() error {
	if f == nil {
		return nil
	}
	f.told.Store(true)
	return f.err
}

// point is a place in a stream. What it holds is set before done is closed, and not changed later.
type point struct {
	done    chan struct{}
	failure *failure // of the work before it, nil if there was none or somebody had been told
	at      time.Time
}

func (p *point) reached() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// NewStream implements driver.Device. Streams do not wait for one another, nor for a default stream that the vendor
// may have: CUDA's blocks, unless streams are made with CU_STREAM_NON_BLOCKING. Without CapPriority the
// options mean nothing.
func (d *device) NewStream(driver.StreamOptions) (driver.Stream, error) {
	if err := d.check("new stream", "queueCreate", d.card.lib.call("queueCreate")); err != nil {
		return nil, err
	}
	return &stream{dev: d}, nil
}

// enqueue adds work. It does not wait, however much there is in the queue. A call that fails adds nothing.
func (s *stream) enqueue(op string, run func() error) error {
	if err := s.dev.check(op, "queueSubmit", s.dev.card.lib.call("queueSubmit")); err != nil {
		return err
	}
	t := task{run, &point{done: make(chan struct{})}}
	s.mu.Lock()
	s.queue, s.last = append(s.queue, t), t.after
	if !s.running {
		s.running = true
		go s.work()
	}
	s.mu.Unlock()
	return nil
}

func (s *stream) work() {
	s.mu.Lock()
	for len(s.queue) > 0 {
		t := s.queue[0]
		s.queue[0] = task{} // what it held on to may go
		s.queue = s.queue[1:]
		s.mu.Unlock()
		err := t.run()
		s.mu.Lock()
		if err != nil {
			s.carried = &failure{err: err}
			if s.fault == nil {
				s.fault = s.carried
			}
		}
		s.pass(t.after)
	}
	s.queue, s.running = nil, false
	s.mu.Unlock()
}

// pass makes p reached; s.mu is held. A failure that nobody has heard of is passed on, so that it is not missed; one
// that has been told is not, so that later work is not taken for failed.
func (s *stream) pass(p *point) {
	if s.carried != nil && s.carried.told.Load() {
		s.carried = nil
	}
	p.failure, p.at = s.carried, time.Now()
	close(p.done)
}

// here is the point behind all work enqueued so far.
func (s *stream) here() *point {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != nil && !s.last.reached() {
		return s.last
	}
	p := &point{done: make(chan struct{})}
	s.pass(p)
	return p
}

// Record implements driver.Stream. From now on the event stands for the work enqueued so far. Waits that were
// enqueued before keep what it stood for then.
func (s *stream) Record(e driver.Event) error {
	e.(*event).set(s.here())
	return nil
}

// Wait implements driver.Stream. Later work of this stream does not start before what the event stands for now is
// done. It does not block the caller, may be for an event of the same stream, and does nothing for an event that was
// never recorded. Work that failed counts as done: whoever cares asks the event.
func (s *stream) Wait(e driver.Event) error {
	p := e.(*event).get()
	if p == nil || p.reached() {
		return nil
	}
	return s.enqueue("wait", func() error { <-p.done; return nil })
}

// Query implements driver.Stream. It never waits. An error of work that is done is returned once.
func (s *stream) Query() (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != nil && !s.last.reached() {
		return false, nil
	}
	return true, s.takeFault()
}

// Sync implements driver.Stream. It waits for the work enqueued before the call, not for what comes later, and holds up
// no other call on this stream or another while it waits. An error of that work is returned once; then the stream
// goes on as if nothing had been.
func (s *stream) Sync() error {
	if err := s.dev.check("sync", "queueWait", s.dev.card.lib.call("queueWait")); err != nil {
		return err
	}
	<-s.here().done
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.takeFault()
}

// takeFault returns the error to report, once; s.mu is held.
func (s *stream) takeFault() error {
	f := s.fault
	s.fault = nil
	return f.tell()
}

// Handle implements driver.Stream: what the vendor's launches take, 0 if there is nothing of the kind.
func (s *stream) Handle() uintptr { return 0 }

// Close implements driver.Stream. The work is done, so there is nothing to wait for.
func (s *stream) Close() error { return nil }
