package part

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/internal/comm/driver"
	"github.com/go-halyard/halyard/internal/protocol"
)

// Moved is what one rank sent in a call.
type Moved struct {
	Bytes    uint64 // of elements, without the heads of messages
	Messages int
}

// exchanging is the operation in errors of Exchange, Begin and End.
const exchanging = "Exchange"

// Exchange makes all ghosts current, and returns what this rank sent. All ranks call it, and it waits for the neighbours until ctx ends.
// What was written to ghosts since the last Accumulate is lost.
//
// An error before anything was sent changes nothing. After any other one the ghosts that had not arrived are stale, and b refuses all
// further calls that are collective except Close, because the ranks may no longer agree on which messages belong together.
func (b *Buffer[T]) Exchange(ctx context.Context) (Moved, error) {
	var x Exchanging[T]
	if err := x.begin(ctx, b); err != nil {
		return Moved{}, err
	}
	return x.End(ctx)
}

// Exchanging is an exchange under way.
type Exchanging[T buffer.Number] struct {
	b     *Buffer[T]
	moved Moved
}

// Begin begins an exchange, so that the program can compute while messages are on their way. The elements to send are copied before it
// returns; what is written to owned elements after that is sent by the next exchange, and does not make ghosts stale before End. Ghosts
// must not be written before End. After an error there is nothing to end.
func (b *Buffer[T]) Begin(ctx context.Context) (*Exchanging[T], error) {
	x := new(Exchanging[T])
	if err := x.begin(ctx, b); err != nil {
		return nil, err
	}
	return x, nil
}

func (x *Exchanging[T]) begin(ctx context.Context, b *Buffer[T]) error {
	if err := b.begin(exchanging); err != nil {
		return err
	}
	s := b.state
	s.mu.Lock()
	s.quiet = true
	for _, l := range s.links {
		s.decide(l)
	}
	s.mu.Unlock()
	err := b.post(ctx, tagExchange)
	if err == nil {
		err = b.pack(ctx, func(l *link) (head [2][]span, payload []span, from *end) {
			return [2][]span{l.sent, l.requested}, l.sent, &l.out
		}, tagExchange, &x.moved)
	}
	if err != nil {
		b.forget(!s.fail(err))
		err = errors.Join(err, b.abandon(ctx))
		b.done()
		return err
	}
	s.begun()
	x.b = b
	return nil
}

// forget undoes decide: it notes that nothing of what was decided was sent. If nothing was, what was written to ghosts is not lost either.
func (b *Buffer[T]) forget(nothing bool) {
	b.state.mu.Lock()
	defer b.state.mu.Unlock()
	for _, l := range b.state.links {
		for _, r := range l.sent {
			l.out.m.Invalidate(ghost, uint64(r.lo), uint64(r.hi))
		}
		if !nothing {
			continue
		}
		for _, r := range l.requested {
			_ = l.in.m.Commit(protocol.Overwrite, ghost, uint64(r.lo), uint64(r.hi))
		}
	}
}

// End waits until the exchange has ended, and returns what this rank sent.
func (x *Exchanging[T]) End(ctx context.Context) (Moved, error) {
	if x == nil || x.b == nil {
		return Moved{}, driver.Errorf(exchanging, comm.ErrInvalidArgument, "the exchange has ended before")
	}
	b := x.b
	x.b = nil
	defer b.done()
	err := x.end(ctx, b)
	if err != nil {
		b.state.fail(err)
		b.Expire() // what did not arrive may have changed
	}
	return x.moved, err
}

func (x *Exchanging[T]) end(ctx context.Context, b *Buffer[T]) error {
	s := b.state
	if err := b.wait(ctx); err != nil {
		return errors.Join(err, b.abandon(ctx))
	}
	again := false
	for i, l := range s.links {
		err := b.open(ctx, exchanging, i, [2]int{l.in.n, l.out.n}, func(head [2][]span, payload []byte) error {
			l.received, l.owed = append(l.received[:0], head[0]...), append(l.owed[:0], head[1]...)
			if len(payload) != count(l.received)*int(s.elem) {
				return mismatch(exchanging, l.peer, "the elements of an exchange are too few or too many")
			}
			return b.unpack(ctx, l, l.received, payload)
		})
		if err != nil {
			return err
		}
		l.missing = without(l.requested, l.received)
		l.answered = without(l.owed, l.sent)
		again = again || len(l.missing)+len(l.answered) > 0
	}
	if again {
		err := b.post(ctx, tagAnswer)
		if err == nil {
			err = b.pack(ctx, func(l *link) ([2][]span, []span, *end) { return [2][]span{}, l.answered, &l.out }, tagAnswer, &x.moved)
		}
		if err == nil {
			err = b.wait(ctx)
		}
		if err != nil {
			return errors.Join(err, b.abandon(ctx))
		}
		for i, l := range s.links {
			if len(l.missing) == 0 {
				continue
			}
			err := b.open(ctx, exchanging, i, [2]int{}, func(_ [2][]span, payload []byte) error {
				if len(payload) != count(l.missing)*int(s.elem) {
					return mismatch(exchanging, l.peer, "the answer of an exchange does not have the length that was requested")
				}
				return b.unpack(ctx, l, l.missing, payload)
			})
			if err != nil {
				return err
			}
		}
	}
	s.mu.Lock()
	for _, l := range s.links {
		s.confirm(l) // what was not sent has not changed
	}
	s.mu.Unlock()
	return nil
}

func mismatch(op string, peer int, detail string) error {
	e := driver.Errorf(op, comm.ErrMismatch, "%s", detail)
	e.Peer = peer
	return e
}

// post begins to receive the messages of a call.
func (b *Buffer[T]) post(ctx context.Context, tag int) error {
	for i, l := range b.state.links {
		if l.peer == b.rank || tag == tagAnswer && len(l.missing) == 0 {
			continue
		}
		r, err := comm.Irecv(ctx, b.c, b.mail[i].in, l.peer, tag)
		if err != nil {
			return err
		}
		b.mail[i].receive = posted{*r, true}
		b.state.begun()
	}
	return nil
}

// pack makes the messages of a call and begins to send them. what returns for each link the spans in the head of the message, the elements
// that it carries, and the end of the link to which these belong. All elements are read under one access.
func (b *Buffer[T]) pack(ctx context.Context, what func(*link) (head [2][]span, payload []span, from *end), tag int, moved *Moved) error {
	ranges := b.ranges[:0]
	for _, l := range b.state.links {
		_, payload, from := what(l)
		for _, r := range payload {
			from.each(r, func(local, n int) { ranges = append(ranges, buffer.Range{Lo: local, Hi: local + n}) })
		}
	}
	fill := func(data []T, base int) error {
		for i, l := range b.state.links {
			head, payload, from := what(l)
			if tag == tagAnswer && len(payload) == 0 {
				continue
			}
			if err := b.letter(ctx, b.mail[i], l, tag, head, payload, from, data, base); err != nil {
				return err
			}
			if l.peer != b.rank {
				moved.Messages++
				moved.Bytes += uint64(count(payload)) * b.state.elem
			}
		}
		return nil
	}
	if len(ranges) == 0 {
		return fill(nil, 0)
	}
	ranges = union(ranges)
	b.ranges = ranges
	return b.local.AccessRanges(ctx, coherence.Read, ranges, func(data []T) error { return fill(data, ranges[0].Lo) })
}

// letter makes one message and begins to send it. data begins with local element base. A message to this rank itself is not sent: its
// memory becomes that of the received message.
func (b *Buffer[T]) letter(ctx context.Context, m *mail, l *link, tag int, head [2][]span, payload []span, from *end, data []T,
	base int) error {
	n := headSize + spanSize*(len(head[0])+len(head[1])) + count(payload)*int(b.state.elem)
	if m.part == nil || m.part.Len() != n {
		part, err := m.out.Slice(0, n)
		if err != nil {
			return err
		}
		m.part = part
	}
	err := m.part.Overwrite(ctx, func(to []byte) error {
		binary.NativeEndian.PutUint32(to, uint32(len(head[0])))
		binary.NativeEndian.PutUint32(to[4:], uint32(len(head[1])))
		to = to[headSize:]
		for _, list := range head {
			for _, r := range list {
				binary.NativeEndian.PutUint32(to, uint32(r.lo))
				binary.NativeEndian.PutUint32(to[4:], uint32(r.hi))
				to = to[spanSize:]
			}
		}
		for _, r := range payload {
			from.each(r, func(local, n int) { to = to[copy(to, bytes(data[local-base:local-base+n])):] })
		}
		return nil
	})
	if err != nil {
		return err
	}
	if l.peer == b.rank {
		m.in, m.out, m.part, m.received = m.out, m.in, nil, n
		return nil
	}
	r, err := comm.Isend(ctx, b.c, m.part, l.peer, tag)
	if err != nil {
		return err
	}
	m.send = posted{*r, true}
	return nil
}

// wait waits for all messages of a call.
func (b *Buffer[T]) wait(ctx context.Context) error {
	for _, m := range b.mail {
		if !m.receive.under {
			continue
		}
		status, err := m.receive.wait(ctx)
		if err != nil {
			return err
		}
		m.received = status.Count
	}
	for _, m := range b.mail {
		if _, err := m.send.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// abandon gives up the messages that are under way.
func (b *Buffer[T]) abandon(ctx context.Context) (err error) {
	over, cancel := context.WithCancel(ctx)
	cancel()
	for _, m := range b.mail {
		_, e1 := m.receive.wait(over)
		_, e2 := m.send.wait(over)
		err = errors.Join(err, e1, e2)
	}
	return err
}

// open reads the message that was received on link i, in the call op. The spans in each list of its head must ascend, and end at its limit
// or before.
func (b *Buffer[T]) open(ctx context.Context, op string, i int, limit [2]int, fn func(head [2][]span, payload []byte) error) error {
	m, peer := b.mail[i], b.state.links[i].peer
	return m.in.View(ctx, func(from []byte) error {
		from = from[:m.received]
		if len(from) < headSize {
			return mismatch(op, peer, "a message is too short")
		}
		head := [2][]span{b.head[0][:0], b.head[1][:0]}
		lengths := [2]int{int(binary.NativeEndian.Uint32(from)), int(binary.NativeEndian.Uint32(from[4:]))}
		from = from[headSize:]
		for k, n := range lengths {
			if n > len(from)/spanSize {
				return mismatch(op, peer, "a message is too short")
			}
			at := 0
			for range n {
				r := span{int(binary.NativeEndian.Uint32(from)), int(binary.NativeEndian.Uint32(from[4:]))}
				if r.lo < at || r.hi <= r.lo || r.hi > limit[k] {
					return mismatch(op, peer, "a message names elements that the link does not have")
				}
				head[k], at, from = append(head[k], r), r.hi, from[spanSize:]
			}
		}
		b.head = head
		return fn(head, from)
	})
}

// unpack writes elements to the ghosts of a link.
func (b *Buffer[T]) unpack(ctx context.Context, l *link, list []span, payload []byte) error {
	ranges := b.ranges[:0]
	for _, r := range list {
		l.in.each(r, func(local, n int) { ranges = append(ranges, buffer.Range{Lo: local, Hi: local + n}) })
	}
	if len(ranges) == 0 {
		return nil
	}
	ranges = union(ranges)
	b.ranges = ranges
	return b.local.AccessRanges(ctx, coherence.Overwrite, ranges, func(data []T) error {
		base := ranges[0].Lo
		for _, r := range list {
			l.in.each(r, func(local, n int) { payload = payload[copy(bytes(data[local-base:local-base+n]), payload):] })
		}
		b.state.mu.Lock()
		l.in.arrived(list)
		b.state.mu.Unlock()
		return nil
	})
}
