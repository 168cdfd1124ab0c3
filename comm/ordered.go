package comm

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/comm/driver"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/nap"
)

// SendOn sends the elements of b to another rank in the order of a stream: as they are after the work that the stream was given before. It
// does not wait for that work, and work that the stream is given later may write b again. Messages of one stream leave in the order of the
// calls. Nothing orders them with messages of other streams, of Isend or of Send.
//
// ctx is for the whole operation, not only for the call: if it ends before the message has left, the operation is given up, and the
// communicator refuses others from then on. The Request gives the outcome of the send. The send goes on whether the program waits for the
// result or not, but it must have ended before [Comm.Close]. A Wait whose context ends gives the operation up; [Request.Test] never does.
//
// SendOn needs [hal.CapOrderedPageable]. For a device that lacks it, the call waits until the stream has copied the elements. If ctx ends meanwhile, nothing is
// sent, and the communicator accepts further operations.
func SendOn[T buffer.Element](ctx context.Context, c *Comm, stream *hal.Stream, b *buffer.Buffer[T], dest, tag int) (*Request, error) {
	const op = "SendOn"
	if err := c.checkDest(op, dest, tag); err != nil {
		return nil, err
	}
	if err := checkBuffer(op, "send", b); err != nil {
		return nil, err
	}
	if err := checkStream(op, stream); err != nil {
		return nil, err
	}
	r, err := begin(ctx, c, op, dest, tag)
	if err != nil {
		return nil, err
	}
	if dest == ProcNull {
		q := new(Request)
		q.begun(r.nothing(Status{}))
		return q, nil
	}
	o := &ordered{ctx: ctx, lane: lane{c, stream}}
	s := &r.sides[0]
	r.bytes, s.n, r.on = b.Size(), b.Size(), o
	if err := r.stage(0); err != nil {
		return nil, r.refuse(err, false)
	}
	defer func() {
		if p := recover(); p != nil { // an observer of buffers has panicked
			_ = r.refuse(errPanicked, false)
			panic(p)
		}
	}()
	lease, err := b.Acquire(ctx, stream, coherence.Read)
	if err != nil {
		return nil, r.refuse(err, false)
	}
	err = o.copy(s, stream, func() error { return stream.CopyOut(s.bytes(), lease.Region()) })
	if err := errors.Join(err, lease.Release()); err != nil {
		return nil, r.refuse(err, false)
	}
	if !stream.Device().Caps().Has(hal.CapOrderedPageable) && o.event.Sync(ctx) != nil && ctx.Err() != nil {
		return nil, r.refuse(interrupted(op, ctx, dest, tag, r.bytes, 0), false)
	}
	return r.moving(), nil
}

// RecvOn receives one message into b in the order of a stream: work that the stream is given later finds the elements, and the call waits for
// neither the message nor the stream. Source, tag and the length are as for [Irecv]. Receives match messages in the order of the calls.
//
// All work that the stream is given after a RecvOn waits for the message, sends included. So, unlike with Irecv, enqueue sends before receives: if
// two ranks each receive first what the other sends later, both wait for ever. Until the message is there a gate holds the stream. While a gate
// is shut, no memory of CUDA and HIP devices is freed, because their frees may wait for the device.
//
// ctx is for the whole operation, not only for the call: if it ends before the message has come, the operation is given up, and the communicator refuses others from
// then on. The stream then goes on, as it does if the receive fails. In both cases the elements are lost, and so is what the stream has computed
// from them: until they are written anew, every access that reads them fails. The result and [Comm.Err] report the failure, too;
// [hal.Stream.Sync] does not. As with [SendOn], the operation goes on whether the program waits for the result or not. Wait waits until the
// elements are in b.
//
// RecvOn needs [hal.CapGate] and [hal.CapOrderedPageable]. For a device that lacks one, the call waits for the message.
func RecvOn[T buffer.Element](ctx context.Context, c *Comm, stream *hal.Stream, b *buffer.Buffer[T], source, tag int) (*Request, error) {
	const op = "RecvOn"
	if err := c.checkSource(op, source, tag); err != nil {
		return nil, err
	}
	if err := checkBuffer(op, "receive into", b); err != nil {
		return nil, err
	}
	if err := checkStream(op, stream); err != nil {
		return nil, err
	}
	r, err := begin(ctx, c, op, source, tag)
	if err != nil {
		return nil, err
	}
	if source == ProcNull {
		q := new(Request)
		q.begun(r.nothing(fromNobody))
		return q, nil
	}
	o := &ordered{ctx: ctx, side: 1, step: moving, lane: lane{c, stream}}
	s := &r.sides[1]
	r.bytes, r.elem, s.n, s.writes, r.on = b.Size(), size[T](), b.Size(), true, o
	if err := r.stage(1); err != nil {
		return nil, r.refuse(err, false)
	}
	gated := stream.Device().Caps().Has(hal.CapGate | hal.CapOrderedPageable)
	if !gated {
		o.step = early
		if err := r.receive(source, tag); err != nil {
			return nil, r.refuse(err, true)
		}
		if r.wait(ctx); r.done { // it failed; else the message is there, and the operation goes on
			err := r.err
			r.over()
			return nil, err
		}
	}
	defer func() {
		if p := recover(); p != nil { // an observer of buffers has panicked
			e := broken(op, errPanicked)
			o.giveUp(e)
			r.finish(e, e)
			panic(p)
		}
	}()
	lease, err := b.Acquire(ctx, stream, coherence.Overwrite)
	if err != nil {
		return nil, r.refuse(err, !gated)
	}
	// From here on the elements are lost unless they come. Receives are queued in the order of their gates.
	c.engine.order.Lock()
	defer c.engine.order.Unlock()
	if gated {
		if o.gate, err = stream.Gate(); err == nil {
			err = r.receive(source, tag)
		}
	}
	if err == nil {
		err = o.copy(s, stream, func() error { return stream.CopyIn(lease.Region(), s.bytes()) })
	}
	if !gated && err == nil {
		o.arrived(nil) // before ReleaseChecked asks for the outcome
	}
	if e := lease.ReleaseChecked(o.outcome); err == nil {
		err = e
	}
	if err != nil {
		e := broken(op, err)
		o.giveUp(e)
		r.finish(e, e)
		r.over()
		return nil, e
	}
	return r.moving(), nil
}

func checkStream(op string, stream *hal.Stream) error {
	if stream.Device() == nil {
		return driver.Errorf(op, ErrInvalidArgument, "nil or zero stream")
	}
	return nil
}

// bytes is the engine's memory for a side.
func (s *side) bytes() []byte { return unsafe.Slice((*byte)(s.stage.p), s.n) }

// ordered is an operation in the order of a stream. For a send, the stream copies the elements to memory of the engine, and then the send begins.
// A receive begins at once. At its end it opens a gate of the stream, which then copies the elements from memory of the engine. operation.mu
// guards the fields, unless a comment says otherwise.
type ordered struct {
	ctx     context.Context
	side    int // the index of its side in operation.sides
	step    step
	late    bool        // ctx has ended, as poll has seen
	unwatch func() bool // ends the watch of ctx; nil if ctx cannot end
	event   *hal.Event  // recorded after the copy; nil before that, and again once the copy is known to have ended
	gate    *hal.Gate   // of a receive; nil if the message was there before the copy was enqueued

	// failure is why the elements did not come, or nil. Once settled is set, failure may be read without the lock.
	failure error
	settled atomic.Bool

	lane  lane
	first bool // of a send: the engine has been given all earlier sends of the lane
}

// step is what an ordered operation waits for.
type step uint8

const (
	copyingOut step = iota // of a send: the stream
	moving                 // the engine
	early                  // of a receive that is not enqueued on the stream yet: the engine
	copyingIn              // of a receive: the stream
)

// copy enqueues the copy of the elements.
func (o *ordered) copy(s *side, stream *hal.Stream, enqueue func() error) error {
	err := enqueue()
	if err != nil {
		return err
	}
	if o.event, err = layer.RecordShared(stream); err != nil {
		s.stage = piece{} // it is not known when the stream has used this memory, so it is not used again
	}
	return err
}

// copying returns the event of the copy on the memory of a side, or nil if there is none under way.
func (o *ordered) copying(side int) *hal.Event {
	if o == nil || o.side != side {
		return nil
	}
	return o.event
}

// copied reports whether the copy has ended, and how.
func (o *ordered) copied() (done bool, err error) {
	if done, err = o.event.Done(); !done && err == nil {
		return false, nil
	}
	_ = o.event.Close()
	o.event = nil
	return true, err
}

var errUnsettled = errors.New("the stream went on before it was known whether the message came")

// outcome returns why the elements did not come, or nil, for [buffer.Lease.ReleaseChecked].
func (o *ordered) outcome() error {
	if !o.settled.Load() {
		return errUnsettled
	}
	return o.failure
}

// arrived lets the stream go on, with the elements, or without them because of a failure.
func (o *ordered) arrived(failure *Error) {
	o.step = copyingIn
	if o.settled.Load() {
		return
	}
	if failure != nil {
		o.failure = failure
	}
	o.settled.Store(true)
	if o.gate != nil {
		_ = o.gate.Signal()
	}
}

// giveUp lets the stream of a receive go on without the elements.
func (o *ordered) giveUp(failure *Error) {
	if o.side == 1 {
		o.arrived(failure)
	}
}

// poll advances an operation as far as it can, and reports whether it has ended. In step early it also reports true once the message is there.
func (o *ordered) poll(r *operation) (ended bool) {
	if o.step != copyingIn && !o.late && o.ctx.Err() != nil {
		o.late = true
		if !r.cancel() {
			e := interrupted(r.op, o.ctx, r.peer, r.tag, r.bytes, 0)
			o.giveUp(e)
			r.finish(e, e)
			return true
		}
	}
	switch o.step {
	case copyingOut:
		return o.pollSend(r)
	case copyingIn:
		return o.pollCopy(r)
	}
	ended, failure := r.ask()
	switch {
	case !ended:
		return false
	case o.side == 0:
		r.end(failure)
	case o.step == moving:
		o.arrived(failure)
		return o.pollCopy(r)
	case failure != nil:
		r.finish(failure, failure)
	default:
		o.step = copyingIn
	}
	return true
}

// pollSend begins a send once its elements are copied, and the engine has been given all earlier sends of its lane.
func (o *ordered) pollSend(r *operation) (ended bool) {
	if o.event != nil {
		done, err := o.copied()
		if !done {
			return false
		}
		o.failure = err
	}
	if !o.first {
		return false
	}
	err := o.failure
	if err == nil {
		err = r.send(r.peer, r.tag)
	}
	if err != nil {
		e := broken(r.op, err)
		r.finish(e, e)
		return true
	}
	o.step = moving
	return o.poll(r)
}

// pollCopy ends a receive once its elements are in the buffer.
func (o *ordered) pollCopy(r *operation) (ended bool) {
	done, err := o.copied()
	if !done {
		return false
	}
	if failure, ok := o.failure.(*Error); ok {
		r.finish(failure, failure)
	} else if err != nil {
		r.finish(broken(r.op, err), nil) // the message came, but the copy failed; the buffer learns of that from the stream
	} else {
		r.finish(nil, nil)
	}
	return true
}

// lane names the operations of one communicator on one stream.
type lane struct {
	c      *Comm
	stream *hal.Stream
}

// moving gives the operation to the mover, which completes it whether the program waits or not, and returns its Request.
func (r *operation) moving() *Request {
	q, o := new(Request), r.on
	q.begun(r)
	m := movement{r, q.generation, o.lane, o.queue()}
	if o.ctx.Done() != nil {
		r.mu.Lock()
		o.unwatch = context.AfterFunc(o.ctx, m.expire)
		r.mu.Unlock()
	}
	r.c.engine.mover.add(m)
	return q
}

// mover completes the operations of SendOn and RecvOn. An engine has one. Its goroutine runs while there are such operations.
type mover struct {
	mu    sync.Mutex
	added []movement
	runs  bool

	turn  sync.Mutex // held while operations are polled; guards lanes
	lanes map[lane]*queues
}

type movement struct {
	r          *operation
	generation uint64
	lane       lane
	at         int // the queue that it is in
}

// queues are the operations of a lane that are under way, one queue for each thing that they wait for, in the order of the calls. The stream
// needs them in that order, so only the first of each queue is polled, and the others cost nothing.
type queues [4][]movement

// queue is the index in queues of what an operation waits for.
func (o *ordered) queue() int {
	switch {
	case o.step == copyingIn:
		return 3
	case o.side == 1:
		return 2
	case o.step == moving:
		return 1
	}
	return 0
}

// idle is how many times as long as it polls the mover sleeps, once nothing has ended for a while.
const idle = 16

func (m *mover) add(o movement) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.added = append(m.added, o)
	if !m.runs {
		m.runs = true
		go m.run()
	}
}

func (m *mover) run() {
	var w nap.Waiter
	for {
		start := time.Now()
		some := m.ask()
		took := time.Since(start)
		if m.stop() {
			return
		}
		if some {
			w = nap.Waiter{}
		}
		w.Rest(context.Background())
		if w.Since() > time.Millisecond { // the longer the polling takes, the longer the sleep
			nap.For(min(idle*took, time.Millisecond))
		}
	}
}

// ask polls the first operation of each queue, and reports whether any has advanced.
func (m *mover) ask() (some bool) {
	m.turn.Lock()
	defer m.turn.Unlock()
	m.mu.Lock()
	for i, o := range m.added {
		q := m.lanes[o.lane]
		if q == nil {
			if m.lanes == nil {
				m.lanes = make(map[lane]*queues)
			}
			q = new(queues)
			m.lanes[o.lane] = q
		}
		q[o.at] = append(q[o.at], o)
		m.added[i] = movement{}
	}
	m.added = m.added[:0]
	m.mu.Unlock()
	for key, q := range m.lanes {
		left := 0
		for at := range q {
			for len(q[at]) > 0 {
				o := q[at][0]
				to, ended := o.goOn()
				if !ended && to == at {
					break
				}
				some = true
				q[at][0] = movement{}
				q[at] = q[at][1:]
				if !ended {
					o.at = to
					q[to] = append(q[to], o)
				}
			}
			left += len(q[at])
		}
		if left == 0 {
			delete(m.lanes, key)
		}
	}
	return some
}

// stop reports whether the goroutine is to end, because no operation is left.
func (m *mover) stop() bool {
	m.turn.Lock()
	defer m.turn.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.runs = len(m.lanes)+len(m.added) > 0
	return !m.runs
}

// goOn polls the operation once. It returns the queue in which the operation waits now, or reports that it has ended. It does nothing while
// another goroutine holds the operation's lock.
func (o movement) goOn() (queue int, ended bool) {
	r := o.r
	if !r.mu.TryLock() {
		return o.at, false
	}
	defer r.mu.Unlock()
	if r.generation.Load() != o.generation || r.done {
		return 0, true
	}
	r.on.first = true
	if r.poll() {
		return 0, true
	}
	return r.on.queue(), false
}

// expire acts on the end of the operation's context, wherever the operation is in its queue.
func (o movement) expire() {
	o.r.mu.Lock()
	defer o.r.mu.Unlock()
	if o.r.generation.Load() == o.generation && !o.r.done {
		o.r.poll()
	}
}
