package nccl

import (
	"context"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/comm/driver"
)

// Send sends the elements of b to another rank, which receives the same number of elements. The stream waits for the receive, so ranks that send
// to each other must do so in a [Group].
func Send[T Number](ctx context.Context, c *Comm, stream *hal.Stream, b *buffer.Buffer[T], dest int) error {
	p := newBatch(c, "Send")
	send(p, b, dest)
	return p.run(ctx, stream)
}

// Recv receives from another rank, which sends as many elements as b has.
func Recv[T Number](ctx context.Context, c *Comm, stream *hal.Stream, b *buffer.Buffer[T], source int) error {
	p := newBatch(c, "Recv")
	receive(p, b, source)
	return p.run(ctx, stream)
}

func send[T Number](p *batch, b *buffer.Buffer[T], dest int) {
	p.peer(dest)
	w := want(p, "send", b, coherence.Read)
	if p.err != nil {
		return
	}
	t, n := typed[T](b.Len())
	p.add(operation{name: "Send", peer: dest, bytes: b.Size(), send: w, recv: -1,
		fn: func(l *library, send, _, comm, stream uintptr) int32 {
			return int32(l.call.Send.Call6(send, n, t, uintptr(dest), comm, stream))
		}})
}

func receive[T Number](p *batch, b *buffer.Buffer[T], source int) {
	p.peer(source)
	w := want(p, "receive into", b, coherence.Overwrite)
	if p.err != nil {
		return
	}
	t, n := typed[T](b.Len())
	p.add(operation{name: "Recv", peer: source, bytes: b.Size(), send: -1, recv: w,
		fn: func(l *library, _, recv, comm, stream uintptr) int32 {
			return int32(l.call.Recv.Call6(recv, n, t, uintptr(source), comm, stream))
		}})
}

// Calls are the sends and receives of a [Group].
type Calls struct{ p *batch }

// Group puts several sends and receives on the stream as one piece of work, in which none waits for another. fn adds them with [AddSend] and
// [AddRecv]. They begin together when fn has returned. If fn returns an error, or an argument is refused, none begins. Messages between the same
// two ranks are matched in the order in which both ranks add them.
//
//	err := nccl.Group(ctx, c, stream, func(g *nccl.Calls) error {
//		nccl.AddSend(g, mine, right)
//		nccl.AddRecv(g, ghost, left)
//		return nil
//	})
func Group(ctx context.Context, c *Comm, stream *hal.Stream, fn func(*Calls) error) error {
	p := newBatch(c, "Group")
	if fn == nil {
		p.refuse(driver.ErrInvalidArgument, "nil function")
	}
	if p.err != nil {
		return p.err
	}
	g := &Calls{p}
	err := fn(g)
	g.p = nil
	if err != nil {
		return err
	}
	return p.run(ctx, stream)
}

// AddSend adds a [Send] to a group. Group returns the error, if there is one.
func AddSend[T Number](g *Calls, b *buffer.Buffer[T], dest int) {
	if g != nil && g.p != nil {
		send(g.p, b, dest)
	}
}

// AddRecv adds a [Recv] to a group. Group returns the error, if there is one.
func AddRecv[T Number](g *Calls, b *buffer.Buffer[T], source int) {
	if g != nil && g.p != nil {
		receive(g.p, b, source)
	}
}
