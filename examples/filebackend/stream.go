package filebackend

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-halyard/halyard/hal/driver"
)

// stream is a queue of tasks that one goroutine works through, in order. The goroutine exists only while there is
// something to do.
type stream struct {
	dev *device

	mu      sync.Mutex
	queue   []task
	running bool
	last    *point   // after the newest task, nil before the first
	fault   *failure // the first failure of a task since Query or Sync returned one
	carried *failure // the latest failure, which points report until a call has returned it
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
	told atomic.Bool // a call has returned it
}

// tell returns the error, and notes that. It returns nil for a nil failure.
func (f *failure) tell() error {
	if f == nil {
		return nil
	}
	f.told.Store(true)
	return f.err
}

// point is a place in a stream. The other fields are set before done is closed, and do not change later.
type point struct {
	done    chan struct{}
	failure *failure // of the work before it; nil if there was none, or if a call had returned it
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

// NewStream implements driver.Device.
func (d *device) NewStream(driver.StreamOptions) (driver.Stream, error) { return &stream{dev: d}, nil }

// enqueue adds work, without waiting.
func (s *stream) enqueue(run func() error) error {
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
		s.queue[0] = task{} // so that the garbage collector can free what the task refers to
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

// pass marks p as reached; s.mu is held. p gets the latest failure, so that it is not missed, unless a call has returned
// that already: then later work does not count as failed.
func (s *stream) pass(p *point) {
	if s.carried != nil && s.carried.told.Load() {
		s.carried = nil
	}
	p.failure, p.at = s.carried, time.Now()
	close(p.done)
}

// here returns the point after all work enqueued so far.
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

// Record implements driver.Stream.
func (s *stream) Record(e driver.Event) error {
	e.(*event).set(s.here())
	return nil
}

// Wait implements driver.Stream. Work that failed counts as done: the event reports the error, and this stream does not.
func (s *stream) Wait(e driver.Event) error {
	p := e.(*event).get()
	if p == nil || p.reached() {
		return nil
	}
	return s.enqueue(func() error { <-p.done; return nil })
}

// Query implements driver.Stream.
func (s *stream) Query() (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != nil && !s.last.reached() {
		return false, nil
	}
	return true, s.takeFault()
}

// Sync implements driver.Stream.
func (s *stream) Sync() error {
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

// Handle implements driver.Stream: streams have no handle.
func (s *stream) Handle() uintptr { return 0 }

// Close implements driver.Stream.
func (s *stream) Close() error { return nil }
