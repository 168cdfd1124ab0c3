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

// Allreduce combines the elements of send of all ranks, element by element, into recv of every rank. Both may be the same buffer.
func Allreduce[T Number](ctx context.Context, c *Comm, stream *hal.Stream, send, recv *buffer.Buffer[T], op comm.Op) error {
	p := newBatch(c, "Allreduce")
	s, r := both(p, send, recv, 1, 1)
	o := reduces[T](p, op)
	if p.err != nil {
		return p.err
	}
	t, n := typed[T](send.Len())
	p.add(operation{name: "Allreduce", peer: driver.NoPeer, bytes: send.Size(), send: s, recv: r,
		fn: func(l *library, send, recv, comm, stream uintptr) int32 {
			return int32(l.call.AllReduce.Call7(send, recv, n, t, o, comm, stream))
		}})
	return p.run(ctx, stream)
}

func (p *batch) add(o operation) { p.list = append(p.list, o) }

// Bcast gives every rank the elements that b has at the root.
func Bcast[T Number](ctx context.Context, c *Comm, stream *hal.Stream, b *buffer.Buffer[T], root int) error {
	p := newBatch(c, "Bcast")
	p.peer(root)
	if p.err != nil {
		return p.err
	}
	mode := coherence.Overwrite
	if c.rank == root {
		mode = coherence.Read
	}
	w := want(p, "broadcast", b, mode)
	if p.err != nil {
		return p.err
	}
	t, n := typed[T](b.Len())
	p.add(operation{name: "Bcast", peer: root, bytes: b.Size(), send: w, recv: w,
		fn: func(l *library, send, recv, comm, stream uintptr) int32 {
			return int32(l.call.Broadcast.Call7(send, recv, n, t, uintptr(root), comm, stream))
		}})
	return p.run(ctx, stream)
}

// Reduce combines the elements of send of all ranks, element by element, into recv of the root. Other ranks may give a nil recv. At the
// root both may be the same buffer.
func Reduce[T Number](ctx context.Context, c *Comm, stream *hal.Stream, send, recv *buffer.Buffer[T], op comm.Op, root int) error {
	p := newBatch(c, "Reduce")
	p.peer(root)
	if p.err != nil {
		return p.err
	}
	s, r := -1, -1
	if c.rank == root {
		s, r = both(p, send, recv, 1, 1)
	} else {
		s = want(p, "send", send, coherence.Read)
	}
	o := reduces[T](p, op)
	if p.err != nil {
		return p.err
	}
	t, n := typed[T](send.Len())
	p.add(operation{name: "Reduce", peer: root, bytes: send.Size(), send: s, recv: r,
		fn: func(l *library, send, recv, comm, stream uintptr) int32 {
			return int32(l.call.Reduce.Call8(send, recv, n, t, o, uintptr(root), comm, stream))
		}})
	return p.run(ctx, stream)
}

// Allgather puts the elements of send of all ranks into recv of every rank, in the order of ranks. recv has Size times as many elements as
// send. The operation is in place if send is this rank's part of recv.
func Allgather[T Number](ctx context.Context, c *Comm, stream *hal.Stream, send, recv *buffer.Buffer[T]) error {
	p := newBatch(c, "Allgather")
	if p.err != nil {
		return p.err
	}
	s, r := both(p, send, recv, 1, c.size)
	if p.err != nil {
		return p.err
	}
	t, n := typed[T](send.Len())
	p.add(operation{name: "Allgather", peer: driver.NoPeer, bytes: send.Size(), send: s, recv: r, own: int64(c.rank) * int64(send.Size()),
		fn: func(l *library, send, recv, comm, stream uintptr) int32 {
			return int32(l.call.AllGather.Call6(send, recv, n, t, comm, stream))
		}})
	return p.run(ctx, stream)
}

// ReduceScatter combines the elements of send of all ranks, element by element, and gives each rank its part of the result. send has Size
// times as many elements as recv. The operation is in place if recv is this rank's part of send.
func ReduceScatter[T Number](ctx context.Context, c *Comm, stream *hal.Stream, send, recv *buffer.Buffer[T], op comm.Op) error {
	p := newBatch(c, "ReduceScatter")
	if p.err != nil {
		return p.err
	}
	s, r := both(p, send, recv, c.size, 1)
	o := reduces[T](p, op)
	if p.err != nil {
		return p.err
	}
	t, n := typed[T](recv.Len())
	p.add(operation{name: "ReduceScatter", peer: driver.NoPeer, bytes: send.Size(), send: s, recv: r,
		own: -int64(c.rank) * int64(recv.Size()),
		fn: func(l *library, send, recv, comm, stream uintptr) int32 {
			return int32(l.call.ReduceScatter.Call7(send, recv, n, t, o, comm, stream))
		}})
	return p.run(ctx, stream)
}
