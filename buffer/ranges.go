package buffer

import (
	"context"
	"unsafe"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/protocol"
)

// Range is the elements [Lo, Hi) of a buffer.
type Range struct{ Lo, Hi int }

// AccessRanges runs fn on several ranges of the elements at once. With mode coherence.Read it works as View, with ReadWrite as Update, and
// with Overwrite as Overwrite. Only elements in the ranges are copied, closed to other accesses, and made stale elsewhere. The
// ranges must be in ascending order and must not overlap; they may be empty. fn gets the elements from the beginning of the first range to the end of the last. It
// must not use the elements between the ranges: they may be stale, and other accesses may use them.
//
// The access begins on all ranges together, when no other access excludes any of them, so two such accesses never wait for
// each other. The cost grows with the number of ranges.
//
// The error is of kind ErrInvalidArgument if ranges are out of order, ErrOverlap if they overlap, and
// ErrOutOfRange if a range is not inside the buffer.
func (b *Buffer[T]) AccessRanges(ctx context.Context, mode coherence.Mode, ranges []Range, fn func([]T) error) error {
	const op = "AccessRanges"
	if fn == nil {
		return hal.Errorf(op, hal.ErrInvalidArgument, "nil function")
	}
	q, err := b.request(op, protocol.Action(mode), ranges)
	if err != nil {
		return err
	}
	x, err := b.s.begin(ctx, &q)
	if err != nil {
		return err
	}
	defer b.s.leave(x)
	return fn(unsafe.Slice((*T)(b.s.host.Pointer(q.Lo)), (q.Hi-q.Lo)/b.elementSize()))
}

// AcquireRanges is [Buffer.Acquire] for several ranges at once, under the rules of [Buffer.AccessRanges]. The
// lease's region reaches from the beginning of the first range to the end of the last; the program must not use the elements
// between the ranges. One Release ends the lease.
func (b *Buffer[T]) AcquireRanges(ctx context.Context, stream *hal.Stream, mode coherence.Mode, ranges []Range) (Lease, error) {
	const op = "AcquireRanges"
	q, err := b.request(op, protocol.Action(mode), ranges)
	if err != nil {
		return Lease{}, err
	}
	if q.stream = stream; stream == nil {
		return Lease{}, noStream(op)
	}
	x, err := b.s.begin(ctx, &q)
	return b.lease(x), err
}

// request checks the ranges and returns a request for them. Adjacent ranges are merged.
func (b *Buffer[T]) request(op string, mode protocol.Action, ranges []Range) (request, error) {
	if err := b.check(op); err != nil {
		return request{}, err
	}
	if err := validMode(op, mode); err != nil {
		return request{}, err
	}
	elem, n := b.elementSize(), b.Len()
	apart := false // there are bytes between ranges
	for i, r := range ranges {
		switch {
		case r.Lo < 0 || r.Hi > n || r.Lo > r.Hi:
			return request{}, hal.Errorf(op, hal.ErrOutOfRange, "[%d, %d) of %d elements", r.Lo, r.Hi, n)
		case i > 0 && r.Lo < ranges[i-1].Hi && (r.Hi <= ranges[i-1].Lo || r.Lo == r.Hi):
			return request{}, hal.Errorf(op, hal.ErrInvalidArgument, "range [%d, %d) comes after [%d, %d), and must come before", r.Lo, r.Hi, ranges[i-1].Lo, ranges[i-1].Hi)
		case i > 0 && r.Lo < ranges[i-1].Hi:
			return request{}, hal.Errorf(op, hal.ErrOverlap, "[%d, %d) and [%d, %d)", ranges[i-1].Lo, ranges[i-1].Hi, r.Lo, r.Hi)
		}
		apart = apart || i > 0 && r.Lo > ranges[i-1].Hi
	}
	q := request{op: op, own: b.own, part: newPart(b.lo, b.lo, mode)}
	if len(ranges) > 0 {
		q.Lo, q.Hi = b.lo+uint64(ranges[0].Lo)*elem, b.lo+uint64(ranges[len(ranges)-1].Hi)*elem
	}
	if !apart {
		return q, nil
	}
	q.parts = make([]part, 0, len(ranges))
	for _, r := range ranges {
		p := newPart(b.lo+uint64(r.Lo)*elem, b.lo+uint64(r.Hi)*elem, mode)
		if last := len(q.parts) - 1; last >= 0 && q.parts[last].Hi == p.Lo {
			q.parts[last].Hi = p.Hi
		} else if p.Lo < p.Hi {
			q.parts = append(q.parts, p)
		}
	}
	return q, nil
}
