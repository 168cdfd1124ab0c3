package buffer

import (
	"context"
	"sort"
	"unsafe"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// Range is the elements [Lo, Hi) of a buffer.
type Range struct{ Lo, Hi int }

// AccessRanges runs fn on several ranges of the elements at once, as View does for coherence.Read, Update for
// ReadWrite and Overwrite for Overwrite: only what lies in the ranges is copied, excluded and made old elsewhere. The ranges
// ascend and do not overlap. fn gets the elements from the first range's begin to the last one's end, and
// must leave alone what lies between the ranges: it may be old, and somebody else may be at it.
//
// All ranges are entered together, when nothing excludes any of them, so that two such accesses never wait for
// each other. The cost grows with the number of ranges.
//
// No ranges, and ranges out of order, are of kind ErrInvalidArgument, ranges that overlap of kind ErrOverlap, an empty
// range or one that the buffer does not have of kind ErrOutOfRange.
func (b *Buffer[T]) AccessRanges(ctx context.Context, mode coherence.Action, ranges []Range, fn func([]T) error) error {
	const op = "AccessRanges"
	if fn == nil {
		return failure(op, hal.ErrInvalidArgument, "nil function")
	}
	if mode != coherence.Read && mode != coherence.ReadWrite && mode != coherence.Overwrite {
		return failure(op, hal.ErrInvalidArgument, "%v is not an access; use Read, ReadWrite or Overwrite", mode)
	}
	lo, hi, parts, err := b.extents(op, ranges)
	if err != nil {
		return err
	}
	slot, err := b.s.enter(ctx, op, mode, lo, hi, parts)
	if err != nil {
		return err
	}
	defer b.s.leave(slot)
	return fn(unsafe.Slice((*T)(b.s.hostSlice(lo)), (hi-lo)/b.elementSize()))
}

// AcquireRanges is [Buffer.AcquireContext] for several ranges at once, under the rules of [Buffer.AccessRanges]. The
// lease's region is from the first range's begin to the last one's end; what lies between the ranges is to be
// left alone. One Release ends it.
func (b *Buffer[T]) AcquireRanges(ctx context.Context, stream *hal.Stream, mode coherence.Action, ranges []Range) (Lease, error) {
	const op = "AcquireRanges"
	lo, hi, parts, err := b.extents(op, ranges)
	if err != nil {
		return Lease{}, err
	}
	slot, gen, err := b.s.acquire(ctx, patient, op, stream, mode, lo, hi, parts)
	return Lease{b.s, slot, gen}, err
}

// extents are the ranges in bytes, none if they are one. Neighbours are merged.
func (b *Buffer[T]) extents(op string, ranges []Range) (lo, hi uint64, parts []extent, err error) {
	if len(ranges) == 0 {
		return 0, 0, nil, failure(op, hal.ErrInvalidArgument, "no ranges")
	}
	elem, n := b.elementSize(), b.Len()
	for i, r := range ranges {
		switch {
		case r.Lo < 0 || r.Hi > n || r.Lo >= r.Hi:
			return 0, 0, nil, failure(op, hal.ErrOutOfRange, "[%d, %d) of %d elements", r.Lo, r.Hi, n)
		case i > 0 && r.Hi <= ranges[i-1].Lo:
			return 0, 0, nil, failure(op, hal.ErrInvalidArgument, "[%d, %d) after [%d, %d)", r.Lo, r.Hi, ranges[i-1].Lo, ranges[i-1].Hi)
		case i > 0 && r.Lo < ranges[i-1].Hi:
			return 0, 0, nil, failure(op, hal.ErrOverlap, "[%d, %d) and [%d, %d)", ranges[i-1].Lo, ranges[i-1].Hi, r.Lo, r.Hi)
		}
	}
	parts = make([]extent, 0, len(ranges))
	for _, r := range ranges {
		e := extent{b.lo + uint64(r.Lo)*elem, b.lo + uint64(r.Hi)*elem}
		if last := len(parts) - 1; last >= 0 && parts[last].hi == e.lo {
			parts[last].hi = e.hi
		} else {
			parts = append(parts, e)
		}
	}
	lo, hi = parts[0].lo, parts[len(parts)-1].hi
	if len(parts) == 1 {
		parts = nil
	}
	return lo, hi, parts, nil
}

// extent is a range of bytes.
type extent struct{ lo, hi uint64 }

// after returns the index of the first of the parts, which ascend, that ends behind x.
func after(parts []extent, x uint64) int {
	return sort.Search(len(parts), func(i int) bool { return parts[i].hi > x })
}

// overlap reports whether one of the parts has a byte of [lo, hi).
func overlap(parts []extent, lo, hi uint64) bool {
	i := after(parts, lo)
	return i < len(parts) && parts[i].lo < hi
}

// enclosed reports whether one of the parts has all of e.
func enclosed(parts []extent, e extent) bool {
	i := after(parts, e.lo)
	return i < len(parts) && parts[i].lo <= e.lo && e.hi <= parts[i].hi
}

// cut returns the parts without [lo, hi).
func cut(parts []extent, lo, hi uint64) (kept []extent) {
	for _, e := range parts {
		if e.lo < lo {
			kept = append(kept, extent{e.lo, min(e.hi, lo)})
		}
		if e.hi > hi {
			kept = append(kept, extent{max(e.lo, hi), e.hi})
		}
	}
	return kept
}

// fetchParts is fetch for each of the parts.
func (s *storage) fetchParts(ctx context.Context, op string, action coherence.Action, parts []extent, slot uint32) error {
	for _, e := range parts {
		if err := s.fetch(ctx, op, action, e.lo, e.hi, slot); err != nil {
			return err
		}
	}
	return nil
}

// wroteParts is wrote for the parts of [lo, hi), or all of it, as one write.
func (s *storage) wroteParts(a coherence.Action, p coherence.Place, lo, hi uint64, parts []extent) {
	if parts == nil {
		s.wrote(a, p, lo, hi)
		return
	}
	version := s.version + 1
	for _, e := range parts {
		s.wrote(a, p, e.lo, e.hi)
	}
	s.version = version
}

// reach is bring for the parts of [lo, hi), or all of it, and orders the stream behind what the access depends on.
func (s *storage) reach(op string, stream *hal.Stream, action coherence.Action, lo, hi uint64, parts []extent) (r *replica, mem *hal.Memory, err error) {
	writes := action != coherence.Read
	if parts == nil {
		if r, mem, err = s.bring(op, stream, action, lo, hi); err == nil {
			err = r.hazards.order(stream, lo, hi, writes)
		}
		return r, mem, err
	}
	for _, e := range parts {
		if r, mem, err = s.bring(op, stream, action, e.lo, e.hi); err != nil {
			return nil, nil, err
		}
		if err = r.hazards.order(stream, e.lo, e.hi, writes); err != nil {
			return nil, nil, err
		}
	}
	return r, mem, nil
}
