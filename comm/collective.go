package comm

import (
	"context"
	"math"

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
		p.err = driver.Errorf(p.op, ErrInvalidArgument, format, args...)
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

// may says which buffers this rank needs unless its part is empty. The others are ignored.
func (p *collective[T]) may(send, recv bool) *collective[T] {
	if !send {
		p.send = nil
	}
	if !recv {
		p.recv = nil
	}
	return p
}

// elements is the number of elements of a buffer, 0 if it is nil.
func elements[T buffer.Number](b *buffer.Buffer[T]) int {
	if b == nil {
		return 0
	}
	return b.Len()
}

// length refuses a buffer whose length is not n.
func (p *collective[T]) length(what string, b *buffer.Buffer[T], n int) {
	if p.err == nil && elements(b) != n {
		p.refuse("the buffer to %s has %d elements, not %d", what, elements(b), n)
	}
}

// reduces makes the operation combine n elements of each rank.
func (p *collective[T]) reduces(op Op, n int) {
	p.a.Type, p.a.Op, p.a.Count, p.inPlace = driver.TypeFor[T](), op, uint64(n), true
	if !op.Takes(p.a.Type) {
		p.refuse("%v is not defined for %v", op, p.a.Type)
	}
}

// parts returns parts that follow each other, with counts[i] elements for rank i, and the number of all elements. It refuses counts that are
// negative, or not one for each rank.
func (p *collective[T]) parts(counts []int) (parts driver.Parts, total int) {
	if p.err != nil {
		return parts, 0
	}
	if len(counts) != p.c.size {
		p.refuse("%d lengths for %d ranks", len(counts), p.c.size)
		return parts, 0
	}
	for i, n := range counts {
		if n < 0 {
			p.refuse("part %d has %d elements, fewer than 0", i, n)
			return parts, 0
		}
		if n > math.MaxInt/int(size[T]())-total {
			p.refuse("the number of bytes of parts %v exceeds the range of int", counts)
			return parts, 0
		}
		parts.Counts = append(parts.Counts, uint64(n)*size[T]())
		parts.Offsets = append(parts.Offsets, uint64(total)*size[T]())
		total += n
	}
	return parts, total
}

// run takes the leases, begins the operation, and waits until it has ended.
func (p *collective[T]) run(ctx context.Context) error {
	both := p.send != nil && p.send == p.recv
	if both && !p.inPlace {
		p.refuse("the buffer to send and the buffer to receive into are the same")
	}
	if p.err != nil {
		return p.err
	}
	peer := driver.NoPeer
	if p.a.Call.Rooted() {
		peer = p.a.Root
	}
	r, err := begin(ctx, p.c, p.op, peer, driver.NoTag)
	if err != nil {
		return err
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
		return r.refuse(err, false)
	}
	r.bytes = max(r.sides[0].n, r.sides[1].n)
	p.a.Send, p.a.Recv = r.sides[0].at(), r.sides[1].at()
	if both {
		p.a.Send = p.a.Recv
	}
	if err := r.collective(&p.a); err != nil {
		return err
	}
	_, err = r.finally(ctx)
	return err
}

// Bcast gives every rank the elements that b has at the root.
func Bcast[T buffer.Number](ctx context.Context, c *Comm, b *buffer.Buffer[T], root int) error {
	p := newCollective(c, "Bcast", driver.Bcast, root, nil, b).needs(false, true)
	if p.err == nil {
		p.a.Count = b.Size()
	}
	return p.run(ctx)
}

// Reduce combines the elements of send of all ranks, element by element, into recv of the root. Other ranks may give a nil recv. At the root both may be
// the same buffer.
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
	p := newCollective(c, "Allreduce", driver.Allreduce, 0, send, recv).needs(true, true)
	if p.err == nil {
		p.length("receive into", recv, send.Len())
		p.reduces(op, send.Len())
	}
	return p.run(ctx)
}

// Scan combines the elements of send of ranks 0 to this one, element by element, into recv. Both may be the same buffer.
func Scan[T buffer.Number](ctx context.Context, c *Comm, send, recv *buffer.Buffer[T], op Op) error {
	p := newCollective(c, "Scan", driver.Scan, 0, send, recv).needs(true, true)
	if p.err == nil {
		p.length("receive into", recv, send.Len())
		p.reduces(op, send.Len())
	}
	return p.run(ctx)
}

// Exscan combines the elements of send of the ranks before this one, element by element, into recv. Rank 0, which has none before it,
// may give a nil recv, and nothing is written there. Both may be the same buffer.
func Exscan[T buffer.Number](ctx context.Context, c *Comm, send, recv *buffer.Buffer[T], op Op) error {
	p := newCollective(c, "Exscan", driver.Exscan, 0, send, recv)
	if p.needs(true, p.err == nil && c.rank > 0); p.err == nil {
		if c.rank > 0 {
			p.length("receive into", recv, send.Len())
		}
		p.reduces(op, send.Len())
	}
	return p.run(ctx)
}

// ReduceScatter combines the elements of send of all ranks, and gives each rank a part of the result: counts[i] elements to rank i, in the order
// of ranks. A rank whose part is empty gives a nil recv.
func ReduceScatter[T buffer.Number](ctx context.Context, c *Comm, send, recv *buffer.Buffer[T], counts []int, op Op) error {
	p := newCollective(c, "ReduceScatter", driver.ReduceScatter, 0, send, recv)
	if _, total := p.parts(counts); p.err == nil {
		p.length("send", send, total)
		p.length("receive into", recv, counts[c.rank])
		p.reduces(op, 0)
		p.inPlace = false
		for _, n := range counts {
			p.a.RecvParts.Counts = append(p.a.RecvParts.Counts, uint64(n))
		}
	}
	return p.run(ctx)
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

// GatherV is Gather with counts[i] elements of rank i. Ranks other than the root may give nil counts. A rank whose
// part is empty gives a nil buffer.
func GatherV[T buffer.Number](ctx context.Context, c *Comm, send, recv *buffer.Buffer[T], counts []int, root int) error {
	p := newCollective(c, "GatherV", driver.GatherV, root, send, recv)
	if p.may(true, p.err == nil && c.rank == root); p.err == nil {
		p.a.Count = uint64(elements(send)) * size[T]()
		if c.rank == root {
			var total int
			if p.a.RecvParts, total = p.parts(counts); p.err == nil {
				p.length("send", send, counts[root])
				p.length("receive into", recv, total)
			}
		}
	}
	return p.run(ctx)
}

// Scatter divides send of the root into parts of equal length, in the order of ranks, and gives each rank its part. Ranks other than the root
// may give a nil send.
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

// ScatterV is Scatter with counts[i] elements for rank i. Ranks other than the root may give nil counts. A rank whose
// part is empty gives a nil buffer.
func ScatterV[T buffer.Number](ctx context.Context, c *Comm, send, recv *buffer.Buffer[T], counts []int, root int) error {
	p := newCollective(c, "ScatterV", driver.ScatterV, root, send, recv)
	if p.may(p.err == nil && c.rank == root, true); p.err == nil {
		p.a.Count = uint64(elements(recv)) * size[T]()
		if c.rank == root {
			var total int
			if p.a.SendParts, total = p.parts(counts); p.err == nil {
				p.length("send", send, total)
				p.length("receive into", recv, counts[root])
			}
		}
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

// AllgatherV is GatherV to every rank. A rank whose part is empty gives a nil send.
func AllgatherV[T buffer.Number](ctx context.Context, c *Comm, send, recv *buffer.Buffer[T], counts []int) error {
	p := newCollective(c, "AllgatherV", driver.AllgatherV, 0, send, recv)
	if parts, total := p.parts(counts); p.err == nil {
		p.length("send", send, counts[c.rank])
		p.length("receive into", recv, total)
		p.a.Count, p.a.RecvParts = uint64(elements(send))*size[T](), parts
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

// AlltoallV is Alltoall with sends[i] elements for rank i and recvs[i] elements from rank i. If all sends are 0, send is nil, and if all recvs
// are 0, recv is nil.
func AlltoallV[T buffer.Number](ctx context.Context, c *Comm, send, recv *buffer.Buffer[T], sends, recvs []int) error {
	p := newCollective(c, "AlltoallV", driver.AlltoallV, 0, send, recv)
	var out, in int
	p.a.SendParts, out = p.parts(sends)
	p.a.RecvParts, in = p.parts(recvs)
	p.length("send", send, out)
	p.length("receive into", recv, in)
	return p.run(ctx)
}
