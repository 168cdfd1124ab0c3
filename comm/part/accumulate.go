package part

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"unsafe"

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
// until ctx ends. If op does not take elements of type T, the error is of kind ErrInvalidArgument. After an error, unless it came before anything
// was sent, b refuses further calls as after one of [Buffer.Exchange].
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
	if began && (err != nil || !b.state.lagged) {
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
	var ranges []Range
	for _, r := range list {
		l.out.each(r, func(local, n int) { ranges = append(ranges, Range{Lo: local, Hi: local + n}) })
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
				reduce(op, data[local-base:local-base+n], other[:n])
				other = other[n:]
			})
		}
		return nil
	})
}

// reduce combines src into dst, for an op that takes the type.
func reduce[T buffer.Number](op comm.Op, dst, src []T) {
	switch driver.TypeFor[T]() {
	case driver.Int8:
		integers(op, as[int8](dst), as[int8](src))
	case driver.Int16:
		integers(op, as[int16](dst), as[int16](src))
	case driver.Int32:
		integers(op, as[int32](dst), as[int32](src))
	case driver.Int64:
		integers(op, as[int64](dst), as[int64](src))
	case driver.Uint8:
		integers(op, as[uint8](dst), as[uint8](src))
	case driver.Uint16:
		integers(op, as[uint16](dst), as[uint16](src))
	case driver.Uint32:
		integers(op, as[uint32](dst), as[uint32](src))
	case driver.Uint64:
		integers(op, as[uint64](dst), as[uint64](src))
	case driver.Float32:
		ordered(op, as[float32](dst), as[float32](src))
	case driver.Float64:
		ordered(op, as[float64](dst), as[float64](src))
	default:
		numbers(op, dst, src)
	}
}

// as returns s as a slice of U, the type that underlies T.
func as[U, T buffer.Number](s []T) []U {
	return unsafe.Slice((*U)(unsafe.Pointer(unsafe.SliceData(s))), len(s))
}

func numbers[T buffer.Number](op comm.Op, dst, src []T) {
	for i, v := range src {
		if op == comm.Prod {
			dst[i] *= v
		} else {
			dst[i] += v
		}
	}
}

func ordered[T interface {
	buffer.Number
	cmp.Ordered
}](op comm.Op, dst, src []T) {
	switch op {
	case comm.Min:
		for i, v := range src {
			dst[i] = min(dst[i], v)
		}
	case comm.Max:
		for i, v := range src {
			dst[i] = max(dst[i], v)
		}
	default:
		numbers(op, dst, src)
	}
}

func integers[T interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}](op comm.Op, dst, src []T) {
	for i, v := range src {
		switch op {
		case comm.And:
			dst[i] &= v
		case comm.Or:
			dst[i] |= v
		case comm.Xor:
			dst[i] ^= v
		default:
			ordered(op, dst[i:i+1], src[i:i+1])
		}
	}
}
