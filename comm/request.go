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
	"github.com/go-halyard/halyard/internal/comm/driver"
	"github.com/go-halyard/halyard/internal/nap"
)

const (
	AnySource = driver.AnySource // the source of a receive that takes a message from any rank
	AnyTag    = driver.AnyTag    // the tag of a receive that takes a message with any tag

	// ProcNull is nobody's rank. A send to it and a receive from it do nothing, touch no buffer, and succeed at once. The Status of such
	// a receive has ProcNull for its source, AnyTag for its tag, and no elements. So ranks at the border of a domain need no case of their
	// own.
	ProcNull = driver.NoPeer
)

// Status describes a message that was received. Operations that receive no message return the zero Status.
type Status struct {
	Source int // the rank that sent it
	Tag    int
	Count  int // elements
}

// Request is an operation under way. The program has to call Wait, or to call Test until it reports the end; the operation holds its leases
// until then. Wait and Test may be called again after the end, and return the same. A Request may be copied while no call on it is under
// way. Once one copy has reported the end, calls on the other copies fail with an error of kind hal.ErrClosed.
//
// A Request that does not escape from the function that began the operation is not allocated on the heap.
type Request struct {
	o          *operation
	generation uint64
	ended      bool
	status     Status
	err        error
}

// operation is the state of one call that sends or receives; a Request refers to one. After its end it is used again for a later call.
type operation struct {
	c         *Comm
	op        string
	peer, tag int
	bytes     uint64
	elem      uint64 // bytes of an element of what is received

	generation atomic.Uint64 // changes when the operation is used again; the Request has the outcome by then

	mu     sync.Mutex
	reqs   [2]driver.Request // the send and the receive; a collective operation uses only the first
	out    [2]driver.Status
	sides  [2]side
	done   bool
	status Status
	err    error
}

// side is memory that an operation reads or writes.
type side struct {
	lease  buffer.HostLease
	leased bool
	host   unsafe.Pointer // the elements
	n      uint64         // bytes
	writes bool
	kept   bool // if the operation does not begin, the elements are as they were before the lease
	stage  piece
}

// at returns the address that the engine gets.
func (s *side) at() unsafe.Pointer {
	if s.stage.p != nil {
		return s.stage.p
	}
	return s.host
}

// begin begins an operation, unless the communicator refuses it.
func begin(ctx context.Context, c *Comm, op string, peer, tag int) (*operation, error) {
	if err := c.enter(ctx, op); err != nil {
		return nil, err
	}
	r := c.engine.idle.take()
	r.c, r.op, r.peer, r.tag, r.elem = c, op, peer, tag, 1
	return r, nil
}

// maxIdle is how many operations that are not under way are kept.
const maxIdle = 256

// operations keeps operations that have ended, for later use.
type operations struct {
	mu   sync.Mutex
	list []*operation
}

func (l *operations) take() *operation {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.list)
	if n == 0 {
		return new(operation)
	}
	r := l.list[n-1]
	l.list = l.list[:n-1]
	return r
}

// over keeps an operation that has ended, so that a later one can use its memory.
func (r *operation) over() {
	l := &r.c.engine.idle
	r.c, r.op, r.bytes, r.done, r.status, r.err = nil, "", 0, false, Status{}, nil
	r.reqs, r.out, r.sides = [2]driver.Request{}, [2]driver.Status{}, [2]side{}
	r.generation.Add(1)
	l.mu.Lock()
	if len(l.list) < maxIdle {
		l.list = append(l.list, r)
	}
	l.mu.Unlock()
}

// begun makes q the request of an operation.
func (q *Request) begun(r *operation) { q.o, q.generation = r, r.generation.Load() }

// errPanicked is the error of an operation that has not begun, because an observer of buffers has panicked.
var errPanicked = errors.New("an observer of package buffer has panicked")

// take leases a buffer, and makes its elements side i of the operation. If an observer panics, take ends the operation.
func take[T buffer.Element](ctx context.Context, r *operation, i int, b *buffer.Buffer[T], mode coherence.Mode) (err error) {
	returned := false
	defer func() {
		if !returned {
			r.finish(errPanicked, nil)
		}
	}()
	err = lease(ctx, r, i, b, mode)
	returned = true
	return err
}

func lease[T buffer.Element](ctx context.Context, r *operation, i int, b *buffer.Buffer[T], mode coherence.Mode) error {
	s := &r.sides[i]
	s.n, s.writes = b.Size(), mode != coherence.Read
	if s.n == 0 {
		return nil
	}
	if err := r.stage(i); err != nil { // before the lease, so that an error leaves the buffer's replicas as they were
		return err
	}
	l, err := b.AcquireHost(ctx, mode)
	if err != nil {
		return err
	}
	s.lease, s.leased, s.host = l, true, l.Pointer()
	if s.stage.p != nil && r.c.engine.lent.has(s.host, s.n) {
		r.c.engine.pool.give(s.stage)
		s.stage = piece{}
	}
	s.kept = mode == coherence.ReadWrite
	if mode != coherence.Overwrite {
		s.fill()
	}
	return nil
}

// takeSlice is take for a Go slice.
func takeSlice[T buffer.Element](r *operation, i int, data []T, mode coherence.Mode) error {
	s := &r.sides[i]
	var zero T
	s.n, s.writes = uint64(len(data))*uint64(unsafe.Sizeof(zero)), mode != coherence.Read
	s.host = unsafe.Pointer(unsafe.SliceData(data))
	if s.n == 0 {
		return nil
	}
	if err := r.stage(i); err != nil {
		return err
	}
	if mode != coherence.Overwrite {
		s.fill()
	}
	return nil
}

// stage gives a side memory of the engine.
func (r *operation) stage(i int) (err error) {
	s := &r.sides[i]
	if s.n == 0 {
		return nil
	}
	s.stage, err = r.c.engine.pool.take(r.c.engine.d, s.n)
	return err
}

// fill copies the elements to the memory of the engine, if the side has some.
func (s *side) fill() {
	if s.stage.p != nil {
		copy(unsafe.Slice((*byte)(s.stage.p), s.n), unsafe.Slice((*byte)(s.host), s.n))
	}
}

// refuse ends an operation that could not begin, or began only in part. engine says that err is the engine's. Such an error is a failure of
// the communicator, unless it is about an argument, a missing feature or memory.
func (r *operation) refuse(err error, engine bool) error {
	var failure *Error
	if engine {
		if e := broken(r.op, err); e.Kind != driver.ErrInvalidArgument && e.Kind != driver.ErrUnsupported && e.Kind != driver.ErrOutOfMemory {
			failure = e
		}
	}
	r.finish(err, failure)
	r.over()
	return err
}

// send and receive begin one message each.
func (r *operation) send(dest, tag int) (err error) {
	s := &r.sides[0]
	r.reqs[0], err = r.c.d.Isend(s.at(), s.n, dest, tag)
	return err
}

func (r *operation) receive(source, tag int) (err error) {
	s := &r.sides[1]
	r.reqs[1], err = r.c.d.Irecv(s.at(), s.n, source, tag)
	return err
}

// sendNow and receiveNow are send and receive for callers that will wait at once. The engine may be done when they return.
func (r *operation) sendNow(dest, tag int) (err error) {
	if r.c.prompt == nil {
		return r.send(dest, tag)
	}
	s := &r.sides[0]
	r.reqs[0], r.out[0], err = r.c.prompt.PromptSend(s.at(), s.n, dest, tag)
	return err
}

func (r *operation) receiveNow(source, tag int) (err error) {
	if r.c.prompt == nil {
		return r.receive(source, tag)
	}
	s := &r.sides[1]
	r.reqs[1], r.out[1], err = r.c.prompt.PromptRecv(s.at(), s.n, source, tag)
	return err
}

// collective begins a collective operation, or refuses it.
func (r *operation) collective(a *driver.Collective) (err error) {
	if r.reqs[0], err = r.c.d.Collective(*a); err != nil {
		return r.refuse(err, true)
	}
	return nil
}

// finish ends the operation with err: it copies what was received into place, and gives back memory and leases. If failure is not nil, the
// communicator refuses other operations from now on. Requests that are not done are given up.
func (r *operation) finish(err error, failure *Error) {
	r.done, r.err = true, err
	pool := &r.c.engine.pool
	for i := range r.sides {
		s := &r.sides[i]
		if err == nil && failure == nil && s.writes && s.stage.p != nil {
			n := s.n
			if i == 1 && r.tag != driver.NoTag { // a message, which may be shorter
				n = min(n, r.out[1].Bytes)
			}
			copy(unsafe.Slice((*byte)(s.host), n), unsafe.Slice((*byte)(s.stage.p), n))
		}
	}
	both := [2]piece{r.sides[0].stage, r.sides[1].stage}
	used := [2]bool{}
	for i, req := range r.reqs {
		if req == 0 {
			continue
		}
		l := loss{req: req}
		if r.tag == driver.NoTag { // a collective operation uses both sides
			l.pieces, used = both, [2]bool{true, true}
		} else {
			l.pieces[i], used[i] = both[i], true
		}
		pool.abandon(l)
	}
	defer r.c.leave(failure) // also if an observer of buffers panics
	defer r.giveBack(&r.sides[1], used[1], failure != nil)
	r.giveBack(&r.sides[0], used[0], failure != nil)
}

// giveBack ends the use of a side. used says that the engine may still use its memory.
func (r *operation) giveBack(s *side, used, began bool) {
	if !used {
		r.c.engine.pool.give(s.stage)
	}
	if s.leased && (!used || s.stage.p != nil) {
		s.release(r.err, began)
	} else if s.leased { // the engine may still use the leased memory itself, so the lease is kept for ever
		r.c.engine.lent.lose(s.host)
	}
	s.host = nil
}

// release ends the lease of a side. err is why the operation failed or did not begin, or nil. After a failure the elements that the
// operation should have written are lost. If it did not begin, they are lost only under a lease with coherence.Overwrite, because such a
// lease did not make them current.
func (s *side) release(err error, began bool) {
	if err != nil && s.writes && (began || !s.kept) {
		_ = s.lease.Fail(err)
	} else {
		_ = s.lease.Release()
	}
}

// poll asks the engine once, and reports whether the operation has ended.
func (r *operation) poll() bool {
	ended, failure := r.ask()
	switch {
	case failure != nil:
		r.finish(failure, failure)
	case ended:
		r.finish(nil, nil)
	}
	return ended
}

// ask calls Test once, and reports whether all requests of the operation are done, or one has failed.
func (r *operation) ask() (ended bool, failure *Error) {
	n := 0
	for _, q := range r.reqs {
		if q != 0 {
			n++
		}
	}
	done := 0
	if n > 0 {
		var err error
		if done, err = r.c.engine.d.Test(r.reqs[:], r.out[:]); err != nil {
			return true, broken(r.op, err)
		}
	}
	for i := range r.out {
		if r.reqs[i] == 0 && r.out[i].Err != nil { // the other request does not matter any more
			return true, broken(r.op, r.out[i].Err)
		}
	}
	if done < n {
		return false, nil
	}
	if r.tag != driver.NoTag && r.sides[1].writes {
		m := &r.out[1]
		if m.Bytes%r.elem != 0 {
			return true, partial(r.op, *m)
		}
		r.status = Status{Source: m.Source, Tag: m.Tag, Count: int(m.Bytes / r.elem)}
	}
	return true, nil
}

// Test reports whether the operation has ended, and returns its outcome if it has. It does not wait.
func (q *Request) Test() (status Status, done bool, err error) {
	r, err := q.operation("Test")
	if r == nil {
		return q.outcome(), true, err
	}
	defer r.mu.Unlock()
	if !r.done && !r.poll() {
		return Status{}, false, nil
	}
	q.keep(r)
	return q.status, true, q.err
}

// Wait waits until the operation has ended, and returns its outcome. If ctx ends first, the operation is given up, and the communicator
// refuses others from then on.
func (q *Request) Wait(ctx context.Context) (Status, error) {
	var w nap.Waiter
	for late := false; ; late = w.Rest(ctx) { // others may ask while this goroutine rests
		r, err := q.operation("Wait")
		if r == nil {
			return q.outcome(), err
		}
		ended := r.done || r.poll()
		if !ended && late {
			r.giveUp(ctx, w.Since())
		}
		if ended || late {
			q.keep(r)
			r.mu.Unlock()
			return q.status, q.err
		}
		r.mu.Unlock()
	}
}

// Waitany waits until one of the operations has ended, and returns its index and its outcome. It passes over nil requests, and over those
// whose end a call has reported before. If none is left, the index is -1, without an error: so a loop gets each outcome once. If ctx ends
// first, the index is -1 and the error is of kind [ErrTimeout]; all operations go on, and the program still has to wait for them.
func Waitany(ctx context.Context, reqs []*Request) (int, Status, error) {
	var w nap.Waiter
	for {
		under := false
		for i, q := range reqs {
			if q == nil || q.reported() {
				continue
			}
			if status, done, err := q.Test(); done {
				return i, status, err
			}
			under = true
		}
		if !under {
			return -1, Status{}, nil
		}
		if w.Rest(ctx) {
			return -1, Status{}, driver.Interrupted("Waitany", ctx, driver.NoPeer, driver.NoTag, 0, w.Since())
		}
	}
}

// reported reports whether a call has returned the outcome.
func (q *Request) reported() bool {
	return q.o != nil && q.o.generation.Load() != q.generation && q.ended
}

// operation returns the operation of the request, locked. If that is over, it returns nil and the outcome's error.
func (q *Request) operation(op string) (*operation, error) {
	if q == nil || q.o == nil {
		return nil, driver.Errorf(op, driver.ErrInvalidArgument, "nil or zero request")
	}
	r := q.o
	if r.generation.Load() == q.generation {
		r.mu.Lock()
		if r.generation.Load() == q.generation {
			return r, nil
		}
		r.mu.Unlock()
	}
	if !q.ended {
		return nil, driver.Errorf(op, driver.ErrClosed, "a copy of the request has been waited for")
	}
	return nil, q.err
}

func (q *Request) outcome() Status {
	if q == nil {
		return Status{}
	}
	return q.status
}

// keep stores the outcome in the request, and lets later operations use the memory of this one.
func (q *Request) keep(r *operation) {
	q.ended, q.status, q.err = true, r.status, r.err
	r.over()
}

func (r *operation) wait(ctx context.Context) {
	var w nap.Waiter
	for !r.done && !r.poll() {
		if w.Rest(ctx) {
			r.giveUp(ctx, w.Since())
		}
	}
}

// nothing ends an operation with ProcNull.
func (r *operation) nothing(s Status) *operation {
	r.status = s
	r.finish(nil, nil)
	return r
}

var fromNobody = Status{Source: ProcNull, Tag: AnyTag}

// finally waits for an operation without a Request, and returns its outcome.
func (r *operation) finally(ctx context.Context) (Status, error) {
	r.wait(ctx)
	status, err := r.status, r.err
	r.over()
	return status, err
}

// cancel cancels a receive. It reports true if the message had already arrived: then the receive ends as if it had not been cancelled.
func (r *operation) cancel() (came bool) {
	if r.reqs[1] == 0 || r.c.engine.d.Cancel(r.reqs[1]) != nil {
		return false
	}
	for range 10000 { // a cancellation waits for no other rank, so this is more than enough
		if n, err := r.c.engine.d.Test(r.reqs[1:], r.out[1:]); n > 0 || err != nil {
			break
		}
	}
	return r.reqs[1] == 0 && !r.out[1].Cancelled
}

// giveUp ends an operation because ctx has ended.
func (r *operation) giveUp(ctx context.Context, after time.Duration) {
	if r.cancel() && r.poll() {
		return
	}
	e := driver.Interrupted(r.op, ctx, r.peer, r.tag, r.bytes, after)
	r.finish(e, e)
}
