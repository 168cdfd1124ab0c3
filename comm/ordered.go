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
	"github.com/go-halyard/halyard/comm/driver"
	"github.com/go-halyard/halyard/hal"
)

// SendOn sends the elements of b to another rank in the order of a stream: as they are after the work that the stream has been given so
// far. It does not wait for that work, and work that the stream is given later may write b again. Messages of one stream leave in the order of the calls; nothing orders
// them with those of other streams, nor with Isend and Send.
//
// ctx is for the whole operation, not only for the call: if it ends before the message has left, the operation is given up, and the communicator refuses others from
// then on. The result says how the send has ended. It goes on whether that is waited for or not, but before [Comm.Close] all requests have to have
// ended. [Request.Test] looks without a risk; a Wait whose context ends gives the operation up.
//
// SendOn needs [hal.CapOrderedPageable]. For a device that lacks it, the call waits until the stream has come so far.
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
	o := &ordered{ctx: ctx, lane: lane{c, stream}}
	s := &r.sides[0]
	r.bytes, s.n, r.on = b.Size(), b.Size(), o
	if err := r.stage(0); err != nil {
		return nil, r.refuse(err, false)
	}
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
// What the stream is given after a RecvOn waits for the message, sends included. So, unlike with Irecv, give a stream its sends first: if two ranks each
// receive first what the other sends after, neither goes on. Until the message is there a gate holds the stream, and drivers whose frees may wait
// for the device (CUDA, HIP) free no memory.
//
// ctx is for the whole operation, not only for the call: if it ends before the message has come, the operation is given up, and the communicator refuses others from
// then on. The stream then goes on, as it does if the receive fails. In both cases the elements are lost, and so is what the stream has made of them:
// until they are written anew, every access that reads them fails. The result and [Comm.Err] say so, too; [hal.Stream.Sync] does not. The operation goes on
// whether the result is waited for or not, under the rules of [SendOn]; Wait waits until the elements are in b.
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
		o.arrived(nil) // before anybody asks
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

// bytes is the memory of the engine that a side has.
func (s *side) bytes() []byte { return unsafe.Slice((*byte)(s.stage.p), s.n) }

// ordered is an operation in the order of a stream. For a send, the stream copies the elements to memory of the engine, and then the send begins.
// A receive begins at once. At its end it opens a gate of the stream, which then copies the elements from memory of the engine. The fields are
// those of the operation's user, who has locked it, if nothing else is said.
type ordered struct {
	ctx     context.Context
	side    int // the index of its side in operation.sides
	step    step
	late    bool        // ctx has ended, and was heeded
	unwatch func() bool // if ctx can end, it ends the watch of ctx
	event   *hal.Event  // recorded behind the copy; nil before, and once the copy is known to have ended
	gate    *hal.Gate   // of a receive; nil if the message was there before the copy was enqueued

	// Anybody may read failure once settled is set. It is why the elements did not come, or nil.
	failure error
	settled atomic.Bool

	lane  lane
	first bool // of a send: those before it in its lane have left
}

// step is what an ordered operation waits for.
type step uint8

const (
	copyingOut step = iota // of a send: the stream
	moving                 // the engine
	early                  // the same, of a receive that has not been told to the stream
	copyingIn              // of a receive: the stream
)

// copy enqueues the copy of the elements.
func (o *ordered) copy(s *side, stream *hal.Stream, enqueue func() error) error {
	err := enqueue()
	if err != nil {
		return err
	}
	if o.event, err = stream.RecordShared(); err != nil {
		s.stage = piece{} // nobody can know when the stream has used it, so it stays
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

// outcome says whether the elements came, for [buffer.Lease.ReleaseChecked].
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

// giveUp lets the stream go on.
func (o *ordered) giveUp(failure *Error) {
	if o.side == 1 {
		o.arrived(failure)
	}
}

// poll goes on with an operation, and reports whether it has ended or, before the stream has been told of it, the message is there.
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

// pollSend begins a send once its elements are there, and those before it in its lane have left.
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
		r.finish(broken(r.op, err), nil) // the message came; the buffer hears from the stream that its elements did not
	} else {
		r.finish(nil, nil)
	}
	return true
}

// lane is the operations of a communicator in the order of one stream.
type lane struct {
	c      *Comm
	stream *hal.Stream
}

// moving lets the operation go on whether somebody waits for it or not.
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

// mover goes on with operations in the order of streams, on one goroutine for all of an engine, which ends with the last of them.
type mover struct {
	mu    sync.Mutex
	added []movement
	runs  bool

	turn  sync.Mutex // of whoever asks
	lanes map[lane]*queues
}

type movement struct {
	r          *operation
	generation uint64
	lane       lane
	at         int // the queue that it is in
}

// queues are the operations of a lane that are under way, by what they wait for, each in the order of the calls. A stream needs them in that order, so only the first
// of a queue is asked, and the others cost nothing.
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

// idle is how many times as long as it asks the mover sleeps, once nothing has ended for a while.
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
	var w waiter
	for {
		start := time.Now()
		some := m.ask()
		took := time.Since(start)
		if m.stop() {
			return
		}
		if some {
			w = waiter{}
		}
		w.rest(context.Background())
		if w.since() > awake { // the more there is to ask, the longer the sleep
			time.Sleep(min(idle*took, awake))
		}
	}
}

// ask asks what each queue waits for, and reports whether something has gone on.
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

// stop ends the goroutine if there is nothing to ask.
func (m *mover) stop() bool {
	m.turn.Lock()
	defer m.turn.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.runs = len(m.lanes)+len(m.added) > 0
	return !m.runs
}

// goOn asks the first of a queue once, and returns the queue of what it waits for then, or that it has ended. It asks nothing while another goroutine does.
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

// expire heeds the end of the operation's context, wherever it is in its queue.
func (o movement) expire() {
	o.r.mu.Lock()
	defer o.r.mu.Unlock()
	if o.r.generation.Load() == o.generation && !o.r.done {
		o.r.poll()
	}
}
