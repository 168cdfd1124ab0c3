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

// NewStream implements driver.Device. Streams do not wait for one another, nor for a default stream that the vendor
// may have. CUDA's streams wait for the default stream unless they are made with CU_STREAM_NON_BLOCKING. Without
// CapPriority the options are ignored.
func (d *device) NewStream(driver.StreamOptions) (driver.Stream, error) {
	if err := d.check("new stream", "queueCreate", d.card.lib.call("queueCreate")); err != nil {
		return nil, err
	}
	return &stream{dev: d}, nil
}

// enqueue adds work. It does not wait, no matter how long the queue is. A call that fails adds nothing.
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

// Record implements driver.Stream. From now on the event stands for the work enqueued so far. Waits that were
// enqueued before keep what it stood for then.
func (s *stream) Record(e driver.Event) error {
	e.(*event).set(s.here())
	return nil
}

// Wait implements driver.Stream. Later work of this stream does not start before what the event stands for now is
// done. It does not block the caller, may be for an event of the same stream, and does nothing for an event that was
// never recorded. Work that failed counts as done: the event reports the error, and this stream does not.
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

// Sync implements driver.Stream. It waits for the work enqueued before the call, not for later work, and while it waits it
// delays no other call on this stream or another. An error of that work is returned once; after that the stream works as
// before.
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

// Handle implements driver.Stream: what the vendor's launches take, 0 if the vendor has no handles of streams.
func (s *stream) Handle() uintptr { return 0 }

// Close implements driver.Stream. The work is done, so there is nothing to wait for.
func (s *stream) Close() error { return nil }
