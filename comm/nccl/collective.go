package nccl

import (
	"context"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/comm/driver"
)

// both adds a buffer that is sent and one that is received into. The lengths of send and recv must be in the ratio n to m. If n == m, they
// may be the same buffer.
func both[T Number](p *batch, send, recv *buffer.Buffer[T], n, m int) (s, r int) {
	if p.err != nil {
		return -1, -1
	}
	if send != nil && send == recv && n == m {
		s = want(p, "send and to receive into", send, coherence.ReadWrite)
		return s, s
	}
	s = want(p, "send", send, coherence.Read)
	r = want(p, "receive into", recv, coherence.Overwrite)
	if p.err == nil && (send.Len()%n != 0 || recv.Len()%m != 0 || send.Len()/n != recv.Len()/m) {
		p.refuse(driver.ErrInvalidArgument, "the buffers to send and to receive into have %d and %d elements; the ratio must be %d to %d",
			send.Len(), recv.Len(), n, m)
	}
	return s, r
}

// one puts one operation on the elements of b on the stream. fn gets them as n values of NCCL's type t.
func one[T Number](ctx context.Context, p *batch, stream *hal.Stream, o operation, b *buffer.Buffer[T],
	fn func(l *library, send, recv, n, t, comm, stream uintptr) int32) error {
	if p.err != nil {
		return p.err
	}
	t, n := typed[T](b.Len())
	o.name, o.bytes, o.own = p.name, b.Size(), o.own*int64(b.Size())
	o.fn = func(l *library, send, recv, comm, stream uintptr) int32 { return fn(l, send, recv, n, t, comm, stream) }
	p.list = append(p.list, o)
	return p.run(ctx, stream)
}

// Allreduce combines the elements of send of all ranks, element by element, into recv of every rank. Both may be the same buffer.
func Allreduce[T Number](ctx context.Context, c *Comm, stream *hal.Stream, send, recv *buffer.Buffer[T], op comm.Op) error {
	p := newBatch(c, "Allreduce")
	s, r := both(p, send, recv, 1, 1)
	o := reduces[T](p, op)
	return one(ctx, p, stream, operation{peer: driver.NoPeer, send: s, recv: r}, send,
		func(l *library, send, recv, n, t, comm, stream uintptr) int32 {
			return int32(l.call.AllReduce.Call7(send, recv, n, t, o, comm, stream))
		})
}

// Bcast gives every rank the elements that b has at the root.
func Bcast[T Number](ctx context.Context, c *Comm, stream *hal.Stream, b *buffer.Buffer[T], root int) error {
	p := newBatch(c, "Bcast")
	p.peer(root)
	mode := coherence.Overwrite
	if p.rank == root {
		mode = coherence.Read
	}
	w := want(p, "broadcast", b, mode)
	return one(ctx, p, stream, operation{peer: root, send: w, recv: w}, b,
		func(l *library, send, recv, n, t, comm, stream uintptr) int32 {
			return int32(l.call.Broadcast.Call7(send, recv, n, t, uintptr(root), comm, stream))
		})
}

// Reduce combines the elements of send of all ranks, element by element, into recv of the root. Other ranks may give a nil recv. At the
// root both may be the same buffer.
func Reduce[T Number](ctx context.Context, c *Comm, stream *hal.Stream, send, recv *buffer.Buffer[T], op comm.Op, root int) error {
	p := newBatch(c, "Reduce")
	p.peer(root)
	s, r := -1, -1
	if p.rank == root {
		s, r = both(p, send, recv, 1, 1)
	} else {
		s = want(p, "send", send, coherence.Read)
	}
	o := reduces[T](p, op)
	return one(ctx, p, stream, operation{peer: root, send: s, recv: r}, send,
		func(l *library, send, recv, n, t, comm, stream uintptr) int32 {
			return int32(l.call.Reduce.Call8(send, recv, n, t, o, uintptr(root), comm, stream))
		})
}

// Allgather puts the elements of send of all ranks into recv of every rank, in the order of ranks. recv has Size times as many elements as
// send. The operation is in place if send is this rank's part of recv.
func Allgather[T Number](ctx context.Context, c *Comm, stream *hal.Stream, send, recv *buffer.Buffer[T]) error {
	p := newBatch(c, "Allgather")
	s, r := both(p, send, recv, 1, p.size)
	return one(ctx, p, stream, operation{peer: driver.NoPeer, send: s, recv: r, own: int64(p.rank)}, send,
		func(l *library, send, recv, n, t, comm, stream uintptr) int32 {
			return int32(l.call.AllGather.Call6(send, recv, n, t, comm, stream))
		})
}

// ReduceScatter combines the elements of send of all ranks, element by element, and gives each rank its part of the result. send has Size
// times as many elements as recv. The operation is in place if recv is this rank's part of send.
func ReduceScatter[T Number](ctx context.Context, c *Comm, stream *hal.Stream, send, recv *buffer.Buffer[T], op comm.Op) error {
	p := newBatch(c, "ReduceScatter")
	s, r := both(p, send, recv, p.size, 1)
	o := reduces[T](p, op)
	return one(ctx, p, stream, operation{peer: driver.NoPeer, send: s, recv: r, own: -int64(p.rank)}, recv,
		func(l *library, send, recv, n, t, comm, stream uintptr) int32 {
			return int32(l.call.ReduceScatter.Call7(send, recv, n, t, o, comm, stream))
		})
}
