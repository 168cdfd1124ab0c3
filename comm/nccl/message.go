package nccl

import (
	"context"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/comm/driver"
)

// Message is a send or a receive of a [Group].
type Message struct{ add func(*batch) }

// Group puts messages on the stream as one piece of work, in which none waits for another. If an argument is refused, none begins. Messages
// between the same two ranks are matched in the order in which both ranks give them. The stream waits until the other ranks have made their
// calls, so ranks that send to each other give both messages in one Group.
//
//	err := nccl.Group(ctx, c, stream, nccl.Send(mine, right), nccl.Recv(ghost, left))
func Group(ctx context.Context, c *Comm, stream *hal.Stream, messages ...Message) error {
	p := newBatch(c, "Group")
	for _, m := range messages {
		if m.add == nil {
			p.refuse(driver.ErrInvalidArgument, "zero message")
		} else if p.err == nil {
			m.add(p)
		}
	}
	return p.run(ctx, stream)
}

// Send is the elements of b for another rank, which receives the same number of elements.
func Send[T Number](b *buffer.Buffer[T], dest int) Message {
	return Message{func(p *batch) {
		if p.peer(dest); p.err == nil {
			w := want(p, "send", b, coherence.Read)
			t, n := typed[T](b.Len())
			p.list = append(p.list, operation{name: "Send", peer: dest, bytes: b.Size(), send: w, recv: -1,
				fn: func(l *library, send, _, comm, stream uintptr) int32 {
					return int32(l.call.Send.Call6(send, n, t, uintptr(dest), comm, stream))
				}})
		}
	}}
}

// Recv is a message from another rank, which sends as many elements as b has.
func Recv[T Number](b *buffer.Buffer[T], source int) Message {
	return Message{func(p *batch) {
		if p.peer(source); p.err == nil {
			w := want(p, "receive into", b, coherence.Overwrite)
			t, n := typed[T](b.Len())
			p.list = append(p.list, operation{name: "Recv", peer: source, bytes: b.Size(), send: -1, recv: w,
				fn: func(l *library, _, recv, comm, stream uintptr) int32 {
					return int32(l.call.Recv.Call6(recv, n, t, uintptr(source), comm, stream))
				}})
		}
	}}
}
