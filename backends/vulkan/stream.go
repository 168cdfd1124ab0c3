//go:build vulkan

package vulkan

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// stream passes operations on to the queue of its device, in order.
//
// Most are submitted by the call that enqueues them, or gather in the queue (queue.go). Where that is not possible yet (a gate is shut, an
// event's own stream is held up, or the host has to copy bytes that the device has not written yet), the operation and those after it stay
// in ops. The right to go on is then with what holds the stream up: a gate, a point, or the queue's watcher, which starts run in a new
// goroutine. A stream that nothing holds up has no goroutine.
type stream struct {
	dev    *device
	q      *queue
	stages *stagingPool // of the queue
	work   func()       // starts run, kept so that waiting does not allocate

	mu      sync.Mutex
	ops     fifo[operation] // not passed on yet
	running bool            // the right to go on is held
	tail    uint64          // number of the submission with which all that was passed on is done
	out     stagedOut

	fault   *mishap // of work that failed after it was enqueued; Query or Sync reports it once
	carried *mishap // the latest one that no call has reported: events that are recorded later report it
}

var (
	_ driver.Stream   = (*stream)(nil)
	_ driver.Gater    = (*stream)(nil)
	_ driver.Notifier = (*stream)(nil)
	_ driver.Launcher = (*stream)(nil)
	_ driver.Repeater = (*stream)(nil)
)

// operation is what a stream passes on. Its pointers keep memory of the Go heap alive.
type operation struct {
	// pass passes on the oldest operation of the stream, which it belongs to. It reports whether something holds the stream up, and so has
	// taken over the right to go on. s.mu is held; it may be unlocked meanwhile, unless the caller is the call that enqueues.
	pass func(s *stream, enqueuing bool) (held bool, err error)

	name     string
	of       any // the launch, the sequence or the event
	n        uint64
	dst, src place          // for the device
	to, from unsafe.Pointer // the same for the host, nil if it does not see them
	drain    bool           // the host's memory may be memory that the device writes, so all before has to be done first
	pattern  driver.Pattern
	queue    *queue // to wait for
	number   uint64
	point    *point
	call     func()
}

// mishap is an error of work. It is told when a call of the program has returned it.
type mishap struct {
	err  error
	told atomic.Bool
}

// tell returns the error, and marks it as told. It returns nil for a nil mishap.
func (f *mishap) tell() error {
	if f == nil {
		return nil
	}
	f.told.Store(true)
	return f.err
}

// point is a place in the work of a stream that was held up when the place was marked. When the stream comes to it, it becomes a number of
// the queue.
type point struct {
	q    *queue
	done chan struct{} // closed when the fields below are set

	mu      sync.Mutex
	reached bool
	number  uint64
	failure *mishap
	waiters []*stream
}

// reach sets the number, and lets the streams go on that wait for it.
func (p *point) reach(number uint64, f *mishap) {
	p.mu.Lock()
	p.reached, p.number, p.failure = true, number, f
	waiters := p.waiters
	p.waiters = nil
	close(p.done)
	p.mu.Unlock()
	for _, s := range waiters {
		s.work()
	}
}

// holdUp takes over the right to go on if the point is not reached, and reports whether it did.
func (p *point) holdUp(s *stream) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reached {
		return false
	}
	p.waiters = append(p.waiters, s)
	return true
}

// NewStream returns a stream. It is no object of Vulkan's: it uses one of the device's queues.
func (d *device) NewStream(driver.StreamOptions) (driver.Stream, error) {
	if err := d.lost.Load(); err != nil {
		return nil, err
	}
	i := int(d.turn.Add(1)-1) % len(d.queues)
	s := &stream{dev: d, q: d.queues[i], stages: d.stages[i]}
	s.work = func() { go s.run() }
	return s, nil
}

// enqueue adds an operation. If nothing holds the stream up, it is passed on at once, and an error means that there is no effect.
func (s *stream) enqueue(o operation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ops.add(o)
	if s.running {
		return nil
	}
	s.running = true
	held, err := s.ops.first().pass(s, true)
	if held {
		return nil
	}
	s.running = false
	s.ops.drop()
	return err
}

// run passes operations on until something holds the stream up, or none is left. The caller has the right to go on.
func (s *stream) run() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.ops.len() > 0 {
		held, err := s.ops.first().pass(s, false)
		if held {
			return
		}
		if err != nil {
			s.carried = &mishap{err: err}
			if s.fault == nil {
				s.fault = s.carried
			}
		}
		s.ops.drop()
	}
	s.running = false
}

// pending returns the failure that an event which is recorded now reports; s.mu is held.
func (s *stream) pending() *mishap {
	if s.carried != nil && s.carried.told.Load() {
		s.carried = nil
	}
	return s.carried
}

// here returns the point after all work so far: a number, or if something holds the stream up, a point that is reached later. s.mu is
// held.
func (s *stream) here() (number uint64, f *mishap, p *point) {
	if !s.running {
		return s.tail, s.pending(), nil
	}
	p = &point{q: s.q, done: make(chan struct{})}
	s.ops.add(operation{pass: (*stream).mark, point: p})
	return 0, nil, p
}

// mark tells the waiting that a point is reached; s.mu is held.
func (s *stream) mark(bool) (held bool, err error) {
	s.ops.first().point.reach(s.tail, s.pending())
	return false, nil
}

// Query reports whether all work so far is done.
func (s *stream) Query() (done bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running {
		return false, nil
	}
	if done, err := s.q.asked(s.tail); !done || err != nil {
		return done, err
	}
	return true, s.takeFault()
}

// Sync waits for all work so far.
func (s *stream) Sync() error {
	const op = "sync"
	s.mu.Lock()
	number, _, p := s.here()
	s.mu.Unlock()
	if p != nil {
		<-p.done
		number = p.number
	}
	if err := s.q.wait(op, number); err != nil {
		return err
	}
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

// OnDone calls a function on a new goroutine when the work so far is done.
func (s *stream) OnDone(fn func()) error {
	return s.enqueue(operation{pass: (*stream).callDone, call: fn})
}

func (s *stream) callDone(bool) (held bool, err error) {
	if call := s.ops.first().call; !s.q.after(s.tail, func() { go call() }) {
		go call()
	}
	return false, nil
}

// Handle returns 0: the VkQueue belongs to several streams, and a program that used it would need the backend's lock.
func (s *stream) Handle() uintptr { return 0 }

// Close releases the stream, whose work is done.
func (s *stream) Close() error { return nil }

// submit submits what record records as work of the stream; s.mu is held.
func (s *stream) submit(name string, record func(cb uintptr)) error {
	s.q.mu.Lock()
	defer s.q.mu.Unlock()
	number, err := s.q.submit(name, record)
	if err == nil {
		s.tail = number
	}
	return err
}
