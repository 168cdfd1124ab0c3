package host

import (
	"math"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/memcopy"
)

// inlineSize is the size in bytes up to which a copy or fill on an idle stream is done
// by the caller. A copy of that size takes about as long as waking a goroutine.
const inlineSize = 32 << 10

// stream is a queue of operations. At most one goroutine, gate or other stream holds the right to run it. A goroutine with the right runs
// operations; at a shut gate, or a wait for another stream, it passes the right to that gate or stream, which later starts a new goroutine.
// An empty queue is not run.
type stream struct {
	dev  *device
	crew crew
	work func() // run, kept so that starting it does not allocate

	// The operations enqueued and done so far. Both change only under mu.
	issued, done atomic.Uint64

	mu      sync.Mutex
	queue   queue
	running bool // the right to run is held
	waiters []waiter
	wakeAt  uint64    // the smallest count of done operations that is waited for
	awake   sync.Cond // signalled when done reaches wakeAt
	faults  faults

	handle  uintptr // 0 until it is asked for; handles.mu guards it and imports
	imports int     // how often the stream is open beside its owner

	faulty   atomic.Bool   // an operation has failed, now or earlier
	reported atomic.Uint64 // operations whose errors Query and Sync have reported
}

// waiter is a stream that goes on when another one has finished done operations.
type waiter struct {
	done   uint64
	stream *stream
}

var (
	_ driver.Stream          = (*stream)(nil)
	_ driver.Gater           = (*stream)(nil)
	_ driver.Notifier        = (*stream)(nil)
	_ driver.StreamAllocator = (*stream)(nil)
	_ driver.Copier2D        = (*stream)(nil)
	_ driver.Launcher        = (*stream)(nil)
	_ driver.FailureTeller   = (*stream)(nil)
)

func newStream(d *device) *stream {
	s := &stream{dev: d, crew: newCrew(), wakeAt: math.MaxUint64}
	s.work = s.run
	s.awake.L = &s.mu
	return s
}

// idle reports whether nothing is enqueued or running; mu is held.
func (s *stream) idle() bool { return s.done.Load() == s.issued.Load() }

// enqueue adds o and starts a goroutine that runs the queue, if it is not being run; mu is held.
func (s *stream) enqueue(o op) {
	s.queue.push(o)
	s.issued.Add(1)
	if !s.running {
		s.running = true
		go s.work()
	}
}

// run works through the queue until it is empty or held up. The caller has the right to run.
func (s *stream) run() {
	var l *launch // that is running
	defer func() {
		if l != nil { // its function has ended this goroutine
			bad := l.end()
			s.mu.Lock()
			s.queue.drop()
			s.finish(bad)
			s.pass()
			s.mu.Unlock()
		}
	}()
	s.mu.Lock()
	for s.queue.n > 0 {
		// The operation stays in the queue while it runs, but the ring may move.
		o := *s.queue.first()
		s.mu.Unlock()
		var bad fault
		switch o.kind {
		case opCopy:
			memcopy.Move(o.dst, o.src, o.n)
		case opFill:
			memcopy.Fill(o.dst, o.n, o.bits, o.width)
		case opWait:
			if o.obj.(*stream).holdUp(s, o.n) {
				return
			}
		case opGate:
			if o.obj.(*gate).holdUp(s) {
				return
			}
		case opStamp:
			o.obj.(*event).stampNow(o.n)
		case opRows:
			o.obj.(*rows).copy()
		case opLaunch:
			l = o.obj.(*launch)
			l.run()
			bad, l = l.end(), nil
		}
		s.mu.Lock()
		s.queue.drop()
		s.finish(bad)
		if o.kind == opCall {
			go o.obj.(func())() // after done was counted, so that the function finds the stream done
		}
	}
	s.running = false
	s.mu.Unlock()
}

// pass gives the right to run to a new goroutine, or up if the queue is empty; mu is held.
func (s *stream) pass() {
	if s.running = s.queue.n > 0; s.running {
		go s.work()
	}
}

// finish counts an operation as done, with its error; mu is held.
func (s *stream) finish(bad fault) {
	if bad.err != nil {
		bad.n = s.done.Load() + 1
		s.faults.add(bad)
		s.faulty.Store(true)
	}
	if done := s.done.Add(1); done >= s.wakeAt {
		s.wake(done)
	}
}

// holdUp takes over the right to run w if s has finished fewer than done operations, and reports whether it did.
func (s *stream) holdUp(w *stream, done uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done.Load() >= done {
		return false
	}
	s.waiters = append(s.waiters, waiter{done, w})
	s.wakeAt = min(s.wakeAt, done)
	return true
}

// wake lets all waiters go on that wait for no more than done operations; mu is held.
func (s *stream) wake(done uint64) {
	s.wakeAt = math.MaxUint64
	left := s.waiters[:0]
	for _, w := range s.waiters {
		if w.done <= done {
			go w.stream.work()
			continue
		}
		s.wakeAt = min(s.wakeAt, w.done)
		left = append(left, w)
	}
	clear(s.waiters[len(left):])
	s.waiters = left
	// Goroutines that wait for more set wakeAt again.
	s.awake.Broadcast()
}

// await blocks until s has finished done operations.
func (s *stream) await(done uint64) {
	if s.done.Load() >= done {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.done.Load() < done {
		s.wakeAt = min(s.wakeAt, done)
		s.awake.Wait()
	}
}

func (s *stream) Copy(dst, src driver.Region) error {
	s.copy(unsafe.Add(dst.Mem.(*memory).base, dst.Off), unsafe.Add(src.Mem.(*memory).base, src.Off), dst.Len)
	return nil
}

func (s *stream) CopyIn(dst driver.Region, src unsafe.Pointer) error {
	s.copy(unsafe.Add(dst.Mem.(*memory).base, dst.Off), src, dst.Len)
	return nil
}

func (s *stream) CopyOut(dst unsafe.Pointer, src driver.Region) error {
	s.copy(dst, unsafe.Add(src.Mem.(*memory).base, src.Off), src.Len)
	return nil
}

func (s *stream) copy(dst, src unsafe.Pointer, n uint64) {
	s.mu.Lock()
	if n <= inlineSize && s.idle() {
		memcopy.Move(dst, src, n)
	} else {
		s.enqueue(op{kind: opCopy, dst: dst, src: src, n: n})
	}
	s.mu.Unlock()
}

func (s *stream) Fill(dst driver.Region, p driver.Pattern) error {
	at := unsafe.Add(dst.Mem.(*memory).base, dst.Off)
	s.mu.Lock()
	if dst.Len <= inlineSize && s.idle() {
		memcopy.Fill(at, dst.Len, p.Bits, p.Width)
	} else {
		s.enqueue(op{kind: opFill, dst: at, n: dst.Len, bits: p.Bits, width: p.Width})
	}
	s.mu.Unlock()
	return nil
}

func (s *stream) Record(e driver.Event) error {
	ev := e.(*event)
	if !ev.timing {
		ev.record(s, s.issued.Load())
		return nil
	}
	s.mu.Lock()
	if s.idle() {
		ev.stampNow(ev.record(s, s.issued.Load()))
	} else {
		s.enqueue(op{kind: opStamp, obj: ev, n: ev.record(s, s.issued.Load()+1)})
	}
	s.mu.Unlock()
	return nil
}

// Wait implements driver.Stream. It enqueues nothing if the event is done or of the same stream.
func (s *stream) Wait(e driver.Event) error {
	other, done := e.(*event).pending()
	if other == nil || other == s {
		return nil
	}
	s.mu.Lock()
	s.enqueue(op{kind: opWait, obj: other, n: done})
	s.mu.Unlock()
	return nil
}

func (s *stream) Query() (bool, error) {
	if s.done.Load() < s.issued.Load() {
		return false, nil
	}
	return true, s.takeFault()
}

func (s *stream) Sync() error {
	s.await(s.issued.Load())
	return s.takeFault()
}

func (s *stream) OnDone(fn func()) error {
	s.mu.Lock()
	if s.idle() {
		go fn()
	} else {
		s.enqueue(op{kind: opCall, obj: fn})
	}
	s.mu.Unlock()
	return nil
}

// AllocAsync implements driver.StreamAllocator. The memory is allocated during the call.
func (s *stream) AllocAsync(size, align uint64) (driver.Memory, error) {
	m, err := s.dev.alloc("alloc on stream", driver.KindDevice, size, align)
	if err != nil {
		return nil, err
	}
	return m, nil
}

// handles are the open streams whose handles were asked for.
var handles struct {
	mu   sync.Mutex
	last uintptr
	open map[uintptr]*stream
}

// Handle implements driver.Stream: a number that ImportStream knows until the stream is closed, and that no later stream has.
func (s *stream) Handle() uintptr {
	h := &handles
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.handle == 0 && s.imports >= 0 {
		h.last++
		s.handle = h.last
		if h.open == nil {
			h.open = make(map[uintptr]*stream)
		}
		h.open[s.handle] = s
	}
	return s.handle
}

// ImportStream implements driver.StreamImporter, for streams of this process.
func (d *device) ImportStream(handle uintptr) (driver.Stream, error) {
	const op = "import a stream"
	h := &handles
	h.mu.Lock()
	defer h.mu.Unlock()
	switch s := h.open[handle]; {
	case s == nil:
		return nil, d.failure(op, driver.ErrInvalidArgument, "%#x is the handle of no open stream", handle)
	case s.dev.hardware != d.hardware:
		return nil, d.failure(op, driver.ErrWrongDevice, "the stream belongs to %s:%d", s.dev.info.Backend, s.dev.info.Ordinal)
	default:
		s.imports++
		return s, nil
	}
}

// Close implements driver.Stream. The last of a stream's users ends its handle.
func (s *stream) Close() error {
	h := &handles
	h.mu.Lock()
	defer h.mu.Unlock()
	if s.imports--; s.imports < 0 {
		delete(h.open, s.handle)
	}
	return nil
}
