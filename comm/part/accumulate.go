package part

import (
	"context"
	"errors"
	"reflect"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/comm"
	"github.com/go-halyard/halyard/internal/comm/driver"
)

// accumulating is the operation in errors of Accumulate.
const accumulating = "Accumulate"

// Accumulate combines what was written to ghosts, since the last Exchange or Accumulate, with the elements of their owners, and returns
// what this rank sent. The owner's element comes first, then the contributions in the order of ranks, so results are the same in every
// run. Afterwards the ghosts of elements that were combined are stale. All ranks call it, with the same op, and it waits for the neighbours
// until ctx ends. If op does not take elements of type T, the error is of kind ErrInvalidArgument. After an error, unless it came before
// anything was sent, b refuses further calls as after one of [Buffer.Exchange].
func (b *Buffer[T]) Accumulate(ctx context.Context, op comm.Op) (Moved, error) {
	if err := b.begin(accumulating); err != nil {
		return Moved{}, err
	}
	defer b.done()
	if !op.Takes(driver.TypeFor[T]()) {
		return Moved{}, driver.Errorf(accumulating, comm.ErrInvalidArgument, "%v is not defined for %v", op, reflect.TypeFor[T]())
	}
	var moved Moved
	err, began := b.accumulate(ctx, op, &moved), true
	if err != nil {
		began = b.state.fail(err)
		err = errors.Join(err, b.abandon(ctx))
	}
	b.state.mu.Lock()
	if began {
		b.state.expire() // other owners' elements have changed too
	}
	b.state.mu.Unlock()
	return moved, err
}

func (b *Buffer[T]) accumulate(ctx context.Context, op comm.Op, moved *Moved) error {
	s := b.state
	s.mu.Lock()
	for _, l := range s.links {
		l.requested = s.written(l, l.requested[:0])
	}
	s.mu.Unlock()
	if err := b.post(ctx, tagGhosts); err != nil {
		return err
	}
	err := b.pack(ctx, func(l *link) ([2][]span, []span, *end) { return [2][]span{l.requested}, l.requested, &l.in }, tagGhosts, moved)
	if err != nil {
		return err
	}
	s.begun()
	s.mu.Lock()
	for _, l := range s.links {
		s.lose(l, l.requested)
	}
	s.mu.Unlock()
	if err := b.wait(ctx); err != nil {
		return err
	}
	for i, l := range s.links {
		err := b.open(ctx, accumulating, i, [2]int{l.out.n, 0}, func(head [2][]span, payload []byte) error {
			if len(payload) != count(head[0])*int(s.elem) {
				return mismatch(accumulating, l.peer, "the contributions to ghosts are too few or too many")
			}
			return b.combine(ctx, l, head[0], payload, op)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// combine combines a neighbour's contributions with the owned elements.
func (b *Buffer[T]) combine(ctx context.Context, l *link, list []span, payload []byte, op comm.Op) error {
	var ranges []buffer.Range
	for _, r := range list {
		l.out.each(r, func(local, n int) { ranges = append(ranges, buffer.Range{Lo: local, Hi: local + n}) })
	}
	if len(ranges) == 0 {
		return nil
	}
	ranges = union(ranges)
	other := make([]T, count(list)) // the payload is not aligned
	copy(bytes(other), payload)
	return b.local.AccessRanges(ctx, coherence.ReadWrite, ranges, func(data []T) error {
		base := ranges[0].Lo
		for _, r := range list {
			l.out.each(r, func(local, n int) {
				driver.Combine(bytes(data[local-base:local-base+n]), bytes(other[:n]), driver.TypeFor[T](), op)
				other = other[n:]
			})
		}
		return nil
	})
}
