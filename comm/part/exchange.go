package part

import (
	"context"
	"encoding/binary"
	"errors"
	"reflect"

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

// The operations in errors. Exchange, Begin and End have one name.
const (
	exchanging   = "Exchange"
	accumulating = "Accumulate"
)

// The messages of a Buffer, as their heads have them.
const (
	elements      = 1 + iota // of an exchange: what was written, and what is requested
	contributions            // of Accumulate: what was written to ghosts
)

// Exchange makes all ghosts current, and returns what this rank sent. All ranks call it, and it waits for the neighbours until ctx ends.
// What was written to ghosts since the last Accumulate is lost. Such ghosts are stale afterwards unless their owner has written them, too,
// and the next Exchange makes them current.
//
// An error before anything was sent changes nothing. After any other one the ghosts that had not arrived are stale, and b refuses all
// further calls that are collective except Close, because the ranks may no longer agree on which messages belong together.
func (b *Buffer[T]) Exchange(ctx context.Context) (Moved, error) {
	if err := b.start(ctx); err != nil {
		return Moved{}, err
	}
	return b.end(ctx)
}

// Exchanging is an exchange under way.
type Exchanging[T buffer.Number] struct{ b *Buffer[T] }

// Begin begins an exchange, so that the program can compute while messages are on their way. The elements to send are copied before it
// returns; what is written to owned elements after that is sent by the next exchange, and does not make ghosts stale before End. Ghosts
// must not be written before End. After an error there is nothing to end.
func (b *Buffer[T]) Begin(ctx context.Context) (*Exchanging[T], error) {
	if err := b.start(ctx); err != nil {
		return nil, err
	}
	return &Exchanging[T]{b}, nil
}

// End waits until the exchange has ended, and returns what this rank sent.
func (x *Exchanging[T]) End(ctx context.Context) (Moved, error) {
	if x == nil || x.b == nil {
		return Moved{}, driver.Errorf(exchanging, driver.ErrInvalidArgument, "the exchange has ended before")
	}
	b := x.b
	x.b = nil
	return b.end(ctx)
}

func (b *Buffer[T]) start(ctx context.Context) error {
	if err := b.begin(exchanging); err != nil {
		return err
	}
	s := b.state
	s.mu.Lock()
	s.quiet = true
	s.decide()
	s.mu.Unlock()
	s.clear()
	for i, l := range s.links {
		s.write(i, out, l.sent, l.requested)
	}
	err := s.send(ctx, exchanging, elements)
	if err != nil {
		s.fail(err)
		s.mu.Lock()
		for _, l := range s.links {
			s.unsend(l, l.sent)
		}
		s.mu.Unlock()
		s.done()
	}
	return err
}

func (b *Buffer[T]) end(ctx context.Context) (Moved, error) {
	s := b.state
	defer s.done()
	err := s.end(ctx)
	if err != nil {
		s.fail(err)
	}
	return s.moved, err
}

func (s *state) end(ctx context.Context) error {
	err := s.receive(ctx, exchanging, elements, coherence.Overwrite, in, take)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.links {
		base := l.ends[in].lo
		s.at(owner, protocol.Overwrite, base, l.received)
		s.at(ghost, protocol.Read, base, l.received)
		s.answer(l)
	}
	s.runs = s.find(s.runs[:0], s.count, s.size, unshared)
	s.at(ghost, protocol.Read, s.count, s.runs) // what was not sent has not changed
	s.lose()
	return nil
}

func take(message, to []byte) { copy(to, message) }

// Accumulate combines what was written to ghosts, since the last Exchange or Accumulate, with the elements of their owners, and returns
// what this rank sent. The owner's element comes first, then the contributions in the order of ranks, so results are the same in every
// run. Afterwards the ghosts of elements that were combined are stale. All ranks call it, with the same op, and it waits for the neighbours
// until ctx ends. If op does not take elements of type T, the error is of kind ErrInvalidArgument. After an error, unless it came before
// anything was sent, b refuses further calls as after one of [Buffer.Exchange].
func (b *Buffer[T]) Accumulate(ctx context.Context, op comm.Op) (Moved, error) {
	if err := b.begin(accumulating); err != nil {
		return Moved{}, err
	}
	s := b.state
	defer s.done()
	if !op.Takes(s.typ) {
		return Moved{}, driver.Errorf(accumulating, driver.ErrInvalidArgument, "%v is not defined for %v", op, reflect.TypeFor[T]())
	}
	err := s.accumulate(ctx, op)
	if err != nil {
		s.fail(err)
	} else {
		b.Expire() // other owners' elements have changed too
	}
	return s.moved, err
}

func (s *state) accumulate(ctx context.Context, op comm.Op) error {
	s.clear()
	for i, l := range s.links {
		s.mu.Lock()
		l.sent = s.contributed(l, l.sent)
		s.mu.Unlock()
		s.write(i, in, l.sent, l.requested[:0])
	}
	if err := s.send(ctx, accumulating, contributions); err != nil {
		return err
	}
	s.mu.Lock()
	for _, l := range s.links {
		s.at(owner, protocol.Overwrite, l.ends[in].lo, l.sent)
	}
	s.mu.Unlock()
	return s.receive(ctx, accumulating, contributions, coherence.ReadWrite, out,
		func(message, to []byte) { driver.Combine(to, message, s.typ, op) })
}

// spanSize is the size in bytes of a span in the head of a message.
const spanSize = 8

// reserve makes memory for the longest messages of all links.
func (s *state) reserve(op string) error {
	for i, l := range s.links {
		s.boxes = append(s.boxes, box{peer: l.peer})
		o, n := l.ends[out].n, l.ends[in].n
		most := headSize + spanSize*((o+1)/2+(n+1)/2) + s.elem*max(o, n)
		s.boxes[i].letters[out].size, s.boxes[i].letters[in].size = most, most
	}
	return errors.Join(s.room(op, out), s.room(op, in))
}

// write makes the message to a neighbour: with elements of its link's end in the direction dir, and a request.
func (s *state) write(i, dir int, sent, requested []span) {
	l, letter := s.links[i], &s.boxes[i].letters[out]
	l.sent, l.requested = sent, requested
	s.spread(out, i, dir, sent)
	letter.size = headSize + spanSize*(len(sent)+len(requested)) + letter.elements
}

// spread puts the elements of some spans of an end into the message to a neighbour, or takes them from its message.
func (s *state) spread(message, i, dir int, list []span) {
	for _, r := range list {
		pieces(s.links[i].ends[dir].slots, r.lo, r.hi, func(_, slot, n int) {
			pieces(s.slots, slot, slot+n, func(_, local, n int) { s.carry(message, i, &s.store, local*s.elem, (local+n)*s.elem) })
		})
	}
}

// send posts the messages, which are all of one kind.
func (s *state) send(ctx context.Context, op string, kind uint64) error {
	return s.post(ctx, op, func(i int, to []byte) []byte {
		l := s.links[i]
		to = putHead(to, kind, len(l.sent), len(l.requested))
		for _, list := range [...][]span{l.sent, l.requested} {
			for _, r := range list {
				binary.NativeEndian.PutUint32(to, uint32(r.lo))
				binary.NativeEndian.PutUint32(to[4:], uint32(r.hi))
				to = to[spanSize:]
			}
		}
		return to
	})
}

// receive waits for the messages, and stores their elements at the links' ends in the direction dir.
func (s *state) receive(ctx context.Context, op string, kind uint64, mode coherence.Mode, dir int, store func(message, to []byte)) error {
	if err := s.wait(ctx); err != nil {
		return err
	}
	return s.open(ctx, op, mode, func(i int, from []byte) ([]byte, error) {
		l := s.links[i]
		about, first, second, rest := head(from)
		if about != kind {
			return nil, mismatch(op, l.peer, otherCalls)
		}
		var ok [2]bool
		l.received, rest, ok[0] = spans(l.received[:0], rest, first, l.ends[dir].n)
		l.owed, rest, ok[1] = spans(l.owed[:0], rest, second, l.ends[1-dir].n)
		if !ok[0] || !ok[1] {
			return nil, mismatch(op, l.peer, "a message is too short, or names elements that the link does not have")
		}
		s.spread(in, i, dir, l.received)
		return rest, nil
	}, store)
}

// spans appends the n spans with which the rest of a message begins. They must ascend, and end at limit or before.
func spans(list []span, from []byte, n, limit int) ([]span, []byte, bool) {
	if n > len(from)/spanSize {
		return list, nil, false
	}
	for at := 0; n > 0; n-- {
		r := span{int(binary.NativeEndian.Uint32(from)), int(binary.NativeEndian.Uint32(from[4:]))}
		if r.lo < at || r.hi <= r.lo || r.hi > limit {
			return list, nil, false
		}
		list, at, from = append(list, r), r.hi, from[spanSize:]
	}
	return list, from, true
}
