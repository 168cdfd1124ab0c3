package comm

import (
	"context"
	"unsafe"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/internal/comm/driver"
	"github.com/go-halyard/halyard/internal/nap"
)

// The path of a message. A call that is indented is made by the one above it; calls stand in their order.
//
//	Send, Isend               on a communicator (comm.go) that New made of an engine
//	  sending                   checks rank and tag
//	    begin                     takes an operation for the call, unless the communicator refuses it (request.go)
//	    take                      leases the buffer on the host as side 0 of the operation: this waits for kernels that write it, and copies
//	                              its elements from the device, and then to memory that the engine has allocated (staging.go)
//	    operation.send            gives that memory to the engine: driver.Comm.Isend (sendNow for Send, which waits at once)
//	Recv, Irecv               the same with side 1: receiving, begin, take and operation.receive
//	operation.finally         for Send and Recv; for a Request it is Request.Wait or Request.Test
//	  operation.poll            asks the engine whether the operation has ended. If so, it calls:
//	    operation.finish          copies what was received to the buffer, gives back the engine's memory, and releases the leases
//	  operation.over            keeps the operation for a later call
//
// If something fails after begin, refuse or giveUp calls finish. A failure of the engine makes the communicator refuse later calls
// (Comm.leave). The engines are in comm/mpi and conformance/commtest; their interface is internal/comm/driver.

func size[T buffer.Element]() uint64 {
	var zero T
	return uint64(unsafe.Sizeof(zero))
}

// checkDest and checkSource refuse ranks and tags that are out of range.
func (c *Comm) checkDest(op string, dest, tag int) error {
	if c == nil {
		return driver.Errorf(op, driver.ErrInvalidArgument, "nil communicator")
	}
	if dest != ProcNull && (dest < 0 || dest >= c.size) {
		return driver.Errorf(op, driver.ErrInvalidArgument, "rank %d is not between 0 and %d", dest, c.size-1)
	}
	return c.checkTag(op, tag)
}

func (c *Comm) checkSource(op string, source, tag int) error {
	if c == nil {
		return driver.Errorf(op, driver.ErrInvalidArgument, "nil communicator")
	}
	if source != AnySource && source != ProcNull && (source < 0 || source >= c.size) {
		return driver.Errorf(op, driver.ErrInvalidArgument, "rank %d is not between 0 and %d", source, c.size-1)
	}
	if tag == AnyTag {
		return nil
	}
	return c.checkTag(op, tag)
}

func (c *Comm) checkTag(op string, tag int) error {
	if tag < 0 || tag > c.engine.maxTag {
		return driver.Errorf(op, driver.ErrInvalidArgument, "tag %d is not between 0 and %d", tag, c.engine.maxTag)
	}
	return nil
}

func noBuffer(op, what string) error {
	return driver.Errorf(op, driver.ErrInvalidArgument, "nil buffer to %s", what)
}

// Isend begins to send the elements of b to another rank. The program has to wait for the result; until then b is leased for reading.
func Isend[T buffer.Element](ctx context.Context, c *Comm, b *buffer.Buffer[T], dest, tag int) (*Request, error) {
	return isend(ctx, new(Request), c, b, dest, tag) // short enough to be inlined, so the Request can be on the caller's stack
}

func isend[T buffer.Element](ctx context.Context, q *Request, c *Comm, b *buffer.Buffer[T], dest, tag int) (*Request, error) {
	r, err := sending(ctx, "Isend", c, b == nil, dest, tag, (*operation).send, reading(ctx, b))
	if err != nil {
		return nil, err
	}
	q.begun(r)
	return q, nil
}

// sending begins a send: take makes the elements side 0 of the operation, and send gives them to the engine. missing says that the program
// gave no buffer.
func sending(ctx context.Context, op string, c *Comm, missing bool, dest, tag int, send func(r *operation, dest, tag int) error,
	take func(*operation) error) (*operation, error) {
	if err := c.checkDest(op, dest, tag); err != nil {
		return nil, err
	}
	if missing {
		return nil, noBuffer(op, "send")
	}
	r, err := begin(ctx, c, op, dest, tag)
	if err != nil {
		return nil, err
	}
	if dest == ProcNull {
		return r.nothing(Status{}), nil
	}
	if err := take(r); err != nil {
		return nil, r.refuse(err, false)
	}
	r.bytes = r.sides[0].n
	if err := send(r, dest, tag); err != nil {
		return nil, r.refuse(err, true)
	}
	return r, nil
}

// reading and writing make the elements of a buffer side 0 or side 1 of an operation.
func reading[T buffer.Element](ctx context.Context, b *buffer.Buffer[T]) func(*operation) error {
	return func(r *operation) error { return take(ctx, r, 0, b, coherence.Read) }
}

func writing[T buffer.Element](ctx context.Context, b *buffer.Buffer[T]) func(*operation) error {
	return func(r *operation) error { return take(ctx, r, 1, b, coherence.Overwrite) }
}

// Irecv begins to receive one message into b. source may be [AnySource], and tag [AnyTag]. The program has to wait for the result; until
// then b is leased for writing. A message that is longer than b is an error of kind [ErrTruncated]. If the message is shorter, the rest of
// b is unspecified. Elements other than numbers are sent as bytes: the sender must have elements of the same type, on a machine with the
// same byte order.
func Irecv[T buffer.Element](ctx context.Context, c *Comm, b *buffer.Buffer[T], source, tag int) (*Request, error) {
	return irecv(ctx, new(Request), c, b, source, tag) // short enough to be inlined, so the Request can be on the caller's stack
}

func irecv[T buffer.Element](ctx context.Context, q *Request, c *Comm, b *buffer.Buffer[T], source, tag int) (*Request, error) {
	r, err := receiving(ctx, "Irecv", c, b == nil, source, tag, size[T](), (*operation).receive, writing(ctx, b))
	if err != nil {
		return nil, err
	}
	q.begun(r)
	return q, nil
}

// receiving begins a receive: take makes the memory side 1 of the operation, and receive gives it to the engine. An element has elem bytes.
// missing says that the program gave no buffer.
func receiving(ctx context.Context, op string, c *Comm, missing bool, source, tag int, elem uint64, receive func(r *operation, source,
	tag int) error, take func(*operation) error) (*operation, error) {
	if err := c.checkSource(op, source, tag); err != nil {
		return nil, err
	}
	if missing {
		return nil, noBuffer(op, "receive into")
	}
	r, err := begin(ctx, c, op, source, tag)
	if err != nil {
		return nil, err
	}
	if source == ProcNull {
		return r.nothing(fromNobody), nil
	}
	r.elem = elem
	if err := take(r); err != nil {
		return nil, r.refuse(err, false)
	}
	r.bytes, r.sides[1].writes = r.sides[1].n, true
	if err := receive(r, source, tag); err != nil {
		return nil, r.refuse(err, true)
	}
	return r, nil
}

// Send sends the elements of b to another rank. It returns when b may be written again; the message may not have been received by then.
// A program must not rely on that: a long message waits for its receive.
func Send[T buffer.Element](ctx context.Context, c *Comm, b *buffer.Buffer[T], dest, tag int) error {
	r, err := sending(ctx, "Send", c, b == nil, dest, tag, (*operation).sendNow, reading(ctx, b))
	if err != nil {
		return err
	}
	_, err = r.finally(ctx)
	return err
}

// Recv receives one message into b, under the rules of [Irecv], and waits for it until ctx ends.
func Recv[T buffer.Element](ctx context.Context, c *Comm, b *buffer.Buffer[T], source, tag int) (Status, error) {
	r, err := receiving(ctx, "Recv", c, b == nil, source, tag, size[T](), (*operation).receiveNow, writing(ctx, b))
	if err != nil {
		return Status{}, err
	}
	return r.finally(ctx)
}

// Probe waits until a message has come that a [Recv] with this source and tag would take, and describes it: Count is its length in elements
// of T. The message stays, so the program can make a buffer that is long enough. Give Recv the Source and Tag of the Status. Another
// goroutine that receives on the same communicator may take the message first. If ctx ends before a message has come, the error is of kind
// [ErrTimeout], and nothing is lost. A message that does not consist of whole elements is an error of kind [ErrMismatch]; it stays, too.
func Probe[T buffer.Element](ctx context.Context, c *Comm, source, tag int) (Status, error) {
	const op = "Probe"
	if err := c.checkSource(op, source, tag); err != nil {
		return Status{}, err
	}
	if err := c.enter(ctx, op); err != nil {
		return Status{}, err
	}
	if source == ProcNull {
		c.leave(nil)
		return fromNobody, nil
	}
	var w nap.Waiter
	for {
		m, found, err := c.d.Iprobe(source, tag)
		switch {
		case err != nil:
			e := broken(op, err)
			c.leave(e)
			return Status{}, e
		case found && m.Bytes%size[T]() != 0:
			c.leave(nil)
			return Status{}, partial(op, m)
		case found:
			c.leave(nil)
			return Status{Source: m.Source, Tag: m.Tag, Count: int(m.Bytes / size[T]())}, nil
		case w.Rest(ctx):
			c.leave(nil)
			return Status{}, driver.Interrupted(op, ctx, source, tag, 0, w.Since())
		}
	}
}

// partial is the error of a message that does not consist of whole elements.
func partial(op string, m driver.Status) *Error {
	return &Error{Op: op, Kind: ErrMismatch, Peer: m.Source, Tag: m.Tag, Bytes: m.Bytes, Detail: "the message does not consist of whole elements"}
}

// Sendrecv sends the elements of send and receives one message into recv at the same time, so that ranks which do so in a ring do not wait
// for each other for ever. If both are the same buffer, its elements are replaced. If send and recv are different slices that share
// elements, the call waits for its own lease until ctx ends.
func Sendrecv[T, U buffer.Element](ctx context.Context, c *Comm, send *buffer.Buffer[T], dest, sendTag int, recv *buffer.Buffer[U], source,
	recvTag int) (Status, error) {
	const op = "Sendrecv"
	if err := c.checkDest(op, dest, sendTag); err != nil {
		return Status{}, err
	}
	if err := c.checkSource(op, source, recvTag); err != nil {
		return Status{}, err
	}
	if send == nil {
		return Status{}, noBuffer(op, "send")
	}
	if recv == nil {
		return Status{}, noBuffer(op, "receive into")
	}
	switch ProcNull {
	case source:
		r, err := sending(ctx, op, c, false, dest, sendTag, (*operation).sendNow, reading(ctx, send))
		if err == nil {
			_, err = r.finally(ctx)
		}
		if err != nil {
			return Status{}, err
		}
		return fromNobody, nil
	case dest:
		r, err := receiving(ctx, op, c, false, source, recvTag, size[U](), (*operation).receiveNow, writing(ctx, recv))
		if err != nil {
			return Status{}, err
		}
		return r.finally(ctx)
	}
	r, err := begin(ctx, c, op, source, recvTag)
	if err != nil {
		return Status{}, err
	}
	r.bytes, r.elem = recv.Size(), size[U]()
	if any(send) == any(recv) {
		err = r.takeBoth(ctx, func() error { return take(ctx, r, 1, recv, coherence.ReadWrite) })
	} else if err = take(ctx, r, 0, send, coherence.Read); err == nil {
		err = take(ctx, r, 1, recv, coherence.Overwrite)
	}
	if err != nil {
		return Status{}, r.refuse(err, false)
	}
	return r.exchange(ctx, dest, sendTag, source, recvTag)
}

// takeBoth gives both sides the elements of one buffer: the second side has the lease, the first has a copy.
func (r *operation) takeBoth(ctx context.Context, second func() error) error {
	if err := second(); err != nil {
		return err
	}
	s := &r.sides[1]
	r.sides[0].host, r.sides[0].n = s.host, s.n
	if s.n == 0 {
		return nil
	}
	if err := r.stage(0); err != nil {
		return err
	}
	r.sides[0].fill()
	return nil
}

// exchange receives and sends at the same time, and waits for both.
func (r *operation) exchange(ctx context.Context, dest, sendTag, source, recvTag int) (Status, error) {
	r.sides[1].writes = true
	if err := r.receive(source, recvTag); err != nil {
		return Status{}, r.refuse(err, true)
	}
	if err := r.sendNow(dest, sendTag); err != nil {
		e := broken(r.op, err)
		r.finish(e, e) // the receive is under way, so this is a failure
		r.over()
		return Status{}, e
	}
	return r.finally(ctx)
}
