//go:build vulkan

package vulkan

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/memcopy"
)

// stream passes operations on to the queue of its device, in order.
//
// Most are submitted by the call that enqueues them, or gather in the queue (gather.go). Where that is not possible yet (a gate is shut, an
// event's own stream is held up, or the host has to copy bytes that the device has not written yet), the operation and those after it stay
// in ops. The right to go on is then with what holds the stream up: a gate, a point, or the queue's watcher, which starts run in a new
// goroutine. A stream that nothing holds up has no goroutine.
type stream struct {
	dev  *device
	q    *queue
	work func() // starts run, kept so that waiting does not allocate

	mu      sync.Mutex
	ops     fifo[op] // not passed on yet
	running bool     // the right to go on is held
	tail    uint64   // number of the submission with which all that was passed on is done
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

// opKind is a kind of operation.
type opKind uint8

const (
	opCopy     opKind = iota + 1 // the device copies from src to dst; to and from are the same for the host, if it sees them
	opFill                       // the device fills dst; to is the same for the host, if it sees it
	opLaunch                     // the device runs a kernel
	opSequence                   // the device runs the launches of a sequence
	opStamp                      // the device writes the time of an event
	opHost                       // the host copies from `from` to `to`, when all before is done
	opStageIn                    // from the host's memory to dst, through stages
	opStageOut                   // from src to the host's memory, through stages
	opWait                       // wait for a point, a gate or a number
	opMark                       // a point is reached
	opCall                       // call a function when all before is done
)

// op is an operation. Its pointers keep memory of the Go heap alive.
type op struct {
	kind     opKind
	drain    bool // opStageIn: the source may be memory that the device writes, so all before has to be done first
	name     string
	n        uint64
	dst, src place
	to, from unsafe.Pointer
	pattern  driver.Pattern
	event    *event
	launch   *launch
	sequence *sequence
	queue    *queue // opWait
	number   uint64
	point    *point
	call     func()
}

// place is a byte of a buffer.
type place struct {
	buffer uintptr
	off    uint64
}

// mishap is an error of work. told is true once a call has returned the error to the program.
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

// NewStream returns a stream. It is no object of Vulkan's: it uses one of the device's queues.
func (d *device) NewStream(driver.StreamOptions) (driver.Stream, error) {
	if err := d.lost.Load(); err != nil {
		return nil, err
	}
	s := &stream{dev: d, q: d.queues[int(d.turn.Add(1)-1)%len(d.queues)]}
	s.work = func() { go s.run() }
	return s, nil
}

// enqueue adds an operation. If nothing holds the stream up, it is passed on at once, and an error means that there is no effect.
func (s *stream) enqueue(o op) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ops.add(o)
	if s.running {
		return nil
	}
	s.running = true
	held, err := s.step(true)
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
		held, err := s.step(false)
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

// atOnce is the most bytes that a call which enqueues copies itself, and that are not worth a submission if the host can do the same.
const atOnce = 64 << 10

// step passes the oldest operation on, and reports whether something holds the stream up, and so has taken over the right to go on.
// s.mu is held; it may be unlocked meanwhile, unless the caller is the call that enqueues.
func (s *stream) step(enqueuing bool) (held bool, err error) {
	o, q := s.ops.first(), s.q
	switch o.kind {
	case opCopy:
		if s.hostDoes(o, enqueuing) && o.from != nil {
			memcopy.Move(o.to, o.from, o.n)
			return false, nil
		}
		err = s.submitCopy(o.name, o.dst, o.src, o.n)
	case opFill:
		if s.hostDoes(o, enqueuing) {
			memcopy.Fill(o.to, o.n, o.pattern.Bits, o.pattern.Width)
			return false, nil
		}
		err = s.submitFill(o)
	case opLaunch:
		return s.submitLaunch(o.name, o.launch)
	case opSequence:
		err = s.submitSequence(o.name, o.sequence)
	case opStamp:
		err = s.submitStamp(o)
	case opHost:
		return s.onHost(enqueuing)
	case opStageIn:
		return s.stageIn(enqueuing)
	case opStageOut:
		return s.stageOut(enqueuing)
	case opWait:
		if o.point != nil {
			if o.point.holdUp(s) {
				return true, nil
			}
			o.queue, o.number = o.point.q, o.point.number
		}
		err = s.join(o.name, o.queue, o.number)
	case opMark:
		o.point.reach(s.tail, s.pending())
	case opCall:
		if call := o.call; !q.after(s.tail, func() { go call() }) {
			go call()
		}
	}
	return false, err
}

// join makes later work come after a submission; s.mu is held. If that is one of another queue and not known to be done, the
// stream's own queue makes a submission that waits for it, so that one number of the own queue still marks the end of all earlier work.
func (s *stream) join(name string, q *queue, number uint64) error {
	if q != s.q {
		done, err := q.reached(number)
		if done || err != nil {
			return err
		}
		if number, err = s.q.followed(name, q, number); err != nil {
			return err
		}
	}
	s.tail = max(s.tail, number)
	return nil
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
	s.ops.add(op{kind: opMark, point: p})
	return 0, nil, p
}

// Record makes the event stand for the work so far.
func (s *stream) Record(e driver.Event) error {
	ev := e.(*event)
	if ev.timing {
		if err := s.enqueue(op{kind: opStamp, name: "record", event: ev, number: ev.again()}); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	number, f, p := s.here()
	ev.set(s.q, number, f, p)
	return nil
}

// Wait makes later work wait for the event. If the event is of the same queue, the device needs no wait, because
// later submissions run later. But work of the host must wait, and nothing may be submitted before the work of a stream that is held up.
func (s *stream) Wait(e driver.Event) error {
	q, number, p := e.(*event).target()
	if p == nil && number == 0 {
		return nil
	}
	return s.enqueue(op{kind: opWait, name: "wait", queue: q, number: number, point: p})
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
func (s *stream) OnDone(fn func()) error { return s.enqueue(op{kind: opCall, call: fn}) }

// Handle returns 0: the VkQueue belongs to several streams, and a program that used it would need the backend's lock.
func (s *stream) Handle() uintptr { return 0 }

// Close releases the stream, whose work is done.
func (s *stream) Close() error { return nil }

// Gate enqueues a gate that is shut.
func (s *stream) Gate() (driver.Gate, error) {
	if err := s.dev.lost.Load(); err != nil {
		return nil, err
	}
	g := &gate{point{q: s.q, done: make(chan struct{})}}
	return g, s.enqueue(op{kind: opWait, point: &g.point})
}

// gate holds one stream until it is opened: a point that no work comes to.
type gate struct{ point }

// Open opens the gate.
func (g *gate) Open() error {
	g.reach(0, nil)
	return nil
}

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
