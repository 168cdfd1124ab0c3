package comm

import (
	"context"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/internal/comm/driver"
)

// Op is how a reduction combines elements.
type Op = driver.Op

// The operations. Min and Max do not take complex numbers. And, Or and Xor take only integers, and combine them bit by bit.
const (
	Sum  = driver.Sum
	Prod = driver.Prod
	Min  = driver.Min
	Max  = driver.Max
	And  = driver.And
	Or   = driver.Or
	Xor  = driver.Xor
)

// collective is a collective operation on buffers of T before it begins.
type collective[T buffer.Number] struct {
	c          *Comm
	op         string
	a          driver.Collective
	send, recv *buffer.Buffer[T] // nil where this rank has no part
	inPlace    bool              // one buffer may be given for both
	err        error
}

func newCollective[T buffer.Number](c *Comm, op string, call driver.Call, root int, send, recv *buffer.Buffer[T]) *collective[T] {
	p := &collective[T]{c: c, op: op, a: driver.Collective{Call: call, Root: root}, send: send, recv: recv}
	switch {
	case c == nil:
		p.refuse("nil communicator")
	case root < 0 || root >= c.size:
		p.refuse("root %d is not between 0 and %d", root, c.size-1)
	}
	return p
}

func (p *collective[T]) refuse(format string, args ...any) {
	if p.err == nil {
		p.err = driver.Errorf(p.op, driver.ErrInvalidArgument, format, args...)
	}
}

// needs says which buffers this rank needs. The others are ignored.
func (p *collective[T]) needs(send, recv bool) *collective[T] {
	if p.err != nil {
		return p
	}
	if !send {
		p.send = nil
	} else if p.send == nil {
		p.refuse("nil buffer to send")
	}
	if !recv {
		p.recv = nil
	} else if p.recv == nil {
		p.refuse("nil buffer to receive into")
	}
	return p
}

// length refuses a buffer whose length is not n.
func (p *collective[T]) length(what string, b *buffer.Buffer[T], n int) {
	if p.err == nil && b.Len() != n {
		p.refuse("the buffer to %s has %d elements, not %d", what, b.Len(), n)
	}
}

// reduces makes the operation combine n elements of each rank.
func (p *collective[T]) reduces(op Op, n int) {
	p.a.Type, p.a.Op, p.a.Count, p.inPlace = driver.TypeFor[T](), op, uint64(n), true
	if !op.Takes(p.a.Type) {
		p.refuse("%v is not defined for %v", op, p.a.Type)
	}
}

// parts returns the lengths of the parts of a buffer, one for each rank. Together they have to be as long as the buffer.
func (p *collective[T]) parts(what string, b *buffer.Buffer[T], counts []int) []uint64 {
	switch {
	case p.err != nil:
		return nil
	case len(counts) != p.c.size:
		p.refuse("there are %d lengths of parts to %s, for %d ranks", len(counts), what, p.c.size)
		return nil
	}
	list, left := make([]uint64, len(counts)), b.Len()
	for i, n := range counts {
		if n < 0 || n > left {
			p.refuse("the part to %s of rank %d has %d elements; %d are left", what, i, n, left)
		}
		list[i], left = uint64(n), left-n
	}
	if left != 0 {
		p.refuse("the buffer to %s has %d elements more than its parts", what, left)
	}
	return list
}

// run takes the leases, begins the operation, and waits until it has ended.
func (p *collective[T]) run(ctx context.Context) error {
	r, err := p.begin(ctx)
	if err != nil {
		return err
	}
	_, err = r.finally(ctx)
	return err
}

func (p *collective[T]) begin(ctx context.Context) (*operation, error) {
	both := p.send != nil && p.send == p.recv
	if both && !p.inPlace {
		p.refuse("the buffer to send and the buffer to receive into are the same")
	}
	if p.err != nil {
		return nil, p.err
	}
	peer := driver.NoPeer
	if p.a.Call.Rooted() {
		peer = p.a.Root
	}
	r, err := begin(ctx, p.c, p.op, peer, driver.NoTag)
	if err != nil {
		return nil, err
	}
	switch {
	case both:
		err = take(ctx, r, 1, p.recv, coherence.ReadWrite)
	case p.a.Call == driver.Bcast && p.c.rank == p.a.Root:
		err = take(ctx, r, 1, p.recv, coherence.Read)
	default:
		if p.send != nil {
			err = take(ctx, r, 0, p.send, coherence.Read)
		}
		if err == nil && p.recv != nil {
			err = take(ctx, r, 1, p.recv, coherence.Overwrite)
		}
	}
	if err != nil {
		return nil, r.refuse(err, false)
	}
	r.bytes = max(r.sides[0].n, r.sides[1].n)
	p.a.Send, p.a.Recv = r.sides[0].at(), r.sides[1].at()
	if both {
		p.a.Send = p.a.Recv
	}
	if err := r.collective(&p.a); err != nil {
		return nil, err
	}
	return r, nil
}

// Bcast gives every rank the elements that b has at the root.
func Bcast[T buffer.Number](ctx context.Context, c *Comm, b *buffer.Buffer[T], root int) error {
	p := newCollective(c, "Bcast", driver.Bcast, root, nil, b).needs(false, true)
	if p.err == nil {
		p.a.Count = b.Size()
	}
	return p.run(ctx)
}

// Reduce combines the elements of send of all ranks, element by element, into recv of the root. Other ranks may give a nil recv. At the
// root both may be the same buffer.
func Reduce[T buffer.Number](ctx context.Context, c *Comm, send, recv *buffer.Buffer[T], op Op, root int) error {
	p := newCollective(c, "Reduce", driver.Reduce, root, send, recv)
	if p.needs(true, p.err == nil && c.rank == root); p.err == nil {
		if c.rank == root {
			p.length("receive into", recv, send.Len())
		}
		p.reduces(op, send.Len())
	}
	return p.run(ctx)
}

// Allreduce combines the elements of send of all ranks, element by element, into recv of every rank. Both may be the same buffer.
func Allreduce[T buffer.Number](ctx context.Context, c *Comm, send, recv *buffer.Buffer[T], op Op) error {
	return allreduce(c, "Allreduce", send, recv, op).run(ctx)
}

// Iallreduce begins an [Allreduce], so that the program can compute meanwhile. It has to wait for the result; until then the buffers are
// leased. An engine may go on with the operation only while the program calls it, for example with [Request.Test].
func Iallreduce[T buffer.Number](ctx context.Context, c *Comm, send, recv *buffer.Buffer[T], op Op) (*Request, error) {
	r, err := allreduce(c, "Iallreduce", send, recv, op).begin(ctx)
	if err != nil {
		return nil, err
	}
	q := new(Request)
	q.begun(r)
	return q, nil
}

func allreduce[T buffer.Number](c *Comm, name string, send, recv *buffer.Buffer[T], op Op) *collective[T] {
	p := newCollective(c, name, driver.Allreduce, 0, send, recv).needs(true, true)
	if p.err == nil {
		p.length("receive into", recv, send.Len())
		p.reduces(op, send.Len())
	}
	return p
}

// Gather puts the elements of send of all ranks into recv of the root, in the order of ranks. send has the same length at every rank. Ranks
// other than the root may give a nil recv.
func Gather[T buffer.Number](ctx context.Context, c *Comm, send, recv *buffer.Buffer[T], root int) error {
	p := newCollective(c, "Gather", driver.Gather, root, send, recv)
	if p.needs(true, p.err == nil && c.rank == root); p.err == nil {
		if c.rank == root {
			p.length("receive into", recv, c.size*send.Len())
		}
		p.a.Count = send.Size()
	}
	return p.run(ctx)
}

// Scatter divides send of the root into parts of equal length, in the order of ranks, and gives each rank its part. Ranks other than the
// root may give a nil send.
func Scatter[T buffer.Number](ctx context.Context, c *Comm, send, recv *buffer.Buffer[T], root int) error {
	p := newCollective(c, "Scatter", driver.Scatter, root, send, recv)
	if p.needs(p.err == nil && c.rank == root, true); p.err == nil {
		if c.rank == root {
			p.length("send", send, c.size*recv.Len())
		}
		p.a.Count = recv.Size()
	}
	return p.run(ctx)
}

// Allgather is Gather to every rank.
func Allgather[T buffer.Number](ctx context.Context, c *Comm, send, recv *buffer.Buffer[T]) error {
	p := newCollective(c, "Allgather", driver.Allgather, 0, send, recv).needs(true, true)
	if p.err == nil {
		p.length("receive into", recv, c.size*send.Len())
		p.a.Count = send.Size()
	}
	return p.run(ctx)
}

// Alltoall divides send into parts of equal length, and gives part i to rank i. Part i of recv comes from rank i.
func Alltoall[T buffer.Number](ctx context.Context, c *Comm, send, recv *buffer.Buffer[T]) error {
	p := newCollective(c, "Alltoall", driver.Alltoall, 0, send, recv).needs(true, true)
	if p.err == nil {
		p.length("receive into", recv, send.Len())
		if send.Len()%c.size != 0 {
			p.refuse("%d elements cannot be divided equally among %d ranks", send.Len(), c.size)
		}
		p.a.Count = send.Size() / uint64(c.size)
	}
	return p.run(ctx)
}

// varies makes the operation move parts of different lengths: n elements of this rank, or those that sends and recvs say.
func (p *collective[T]) varies(n int, sends, recvs []uint64) *collective[T] {
	p.a.Type, p.a.Count, p.a.Sends, p.a.Recvs = driver.TypeFor[T](), uint64(n), sends, recvs
	return p
}

// Gatherv is [Gather] of parts of different lengths. counts has the length of each rank's send; together they fill recv. Ranks other than
// the root may give a nil recv and nil counts.
func Gatherv[T buffer.Number](ctx context.Context, c *Comm, send, recv *buffer.Buffer[T], counts []int, root int) error {
	p := newCollective(c, "Gatherv", driver.Gatherv, root, send, recv)
	if p.needs(true, p.err == nil && c.rank == root); p.err != nil {
		return p.err
	}
	var recvs []uint64
	if c.rank == root {
		if recvs = p.parts("receive into", recv, counts); p.err == nil {
			p.length("send", send, counts[root])
		}
	}
	return p.varies(send.Len(), nil, recvs).run(ctx)
}

// Scatterv is [Scatter] into parts of different lengths. counts has the length of each rank's recv; together they are all of send. Ranks
// other than the root may give a nil send and nil counts.
func Scatterv[T buffer.Number](ctx context.Context, c *Comm, send *buffer.Buffer[T], counts []int, recv *buffer.Buffer[T], root int) error {
	p := newCollective(c, "Scatterv", driver.Scatterv, root, send, recv)
	if p.needs(p.err == nil && c.rank == root, true); p.err != nil {
		return p.err
	}
	var sends []uint64
	if c.rank == root {
		if sends = p.parts("send", send, counts); p.err == nil {
			p.length("receive into", recv, counts[root])
		}
	}
	return p.varies(recv.Len(), sends, nil).run(ctx)
}

// Alltoallv is [Alltoall] with parts of different lengths: sends has the length of the part of send for each rank, and recvs that of the
// part of recv from each rank.
func Alltoallv[T buffer.Number](ctx context.Context, c *Comm, send *buffer.Buffer[T], sends []int, recv *buffer.Buffer[T], recvs []int) error {
	p := newCollective(c, "Alltoallv", driver.Alltoallv, 0, send, recv).needs(true, true)
	if p.err != nil {
		return p.err
	}
	out, in := p.parts("send", send, sends), p.parts("receive into", recv, recvs)
	if p.err == nil && sends[c.rank] != recvs[c.rank] {
		p.refuse("rank %d gives itself %d elements, and takes %d", c.rank, sends[c.rank], recvs[c.rank])
	}
	return p.varies(0, out, in).run(ctx)
}
