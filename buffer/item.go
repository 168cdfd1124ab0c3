package buffer

import (
	"context"
	"errors"
	"unsafe"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// At returns one element. It is a View of that element: nothing else is copied to the host. Loops are
// better off within one View.
func (b *Buffer[T]) At(ctx context.Context, i int) (T, error) {
	var v T
	err := b.item(ctx, "At", coherence.Read, i, func(p *T) { v = *p })
	return v, err
}

// Set writes one element, on the host. Nothing is copied there first, and no other element becomes old elsewhere.
func (b *Buffer[T]) Set(ctx context.Context, i int, v T) error {
	return b.item(ctx, "Set", coherence.Overwrite, i, func(p *T) { *p = v })
}

func (b *Buffer[T]) item(ctx context.Context, op string, mode coherence.Action, i int, fn func(*T)) error {
	if n := b.Len(); i < 0 || i >= n {
		return failure(op, hal.ErrOutOfRange, "element %d of %d", i, n)
	}
	elem := b.elementSize()
	lo := b.lo + uint64(i)*elem
	slot, err := b.s.enter(ctx, op, mode, lo, lo+elem, nil)
	if err != nil {
		return err
	}
	fn((*T)(b.s.hostSlice(lo)))
	b.s.leave(slot)
	return nil
}

// Fill makes every element v, on the host. It waits as Overwrite does.
func (b *Buffer[T]) Fill(ctx context.Context, v T) error {
	return b.access(ctx, "Fill", coherence.Overwrite, func(s []T) error {
		for i := range s {
			s[i] = v
		}
		return nil
	})
}

// FillOn makes every element v on the stream's device, in stream order, under the rules of Acquire. It does not wait.
func (b *Buffer[T]) FillOn(stream *hal.Stream, v T) error {
	slot, gen, err := b.s.acquire(context.Background(), impatient, "FillOn", stream, coherence.Overwrite, b.lo, b.hi, nil)
	if err != nil {
		return err
	}
	l := Lease{b.s, slot, gen}
	return errors.Join(fillRegion(stream, l.Region(), v), l.Release())
}

func fillRegion[T Element](stream *hal.Stream, r hal.Region, v T) error {
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(&v)), unsafe.Sizeof(v))
	if len(bytes) <= 8 {
		p := hal.Pattern{Width: uint8(len(bytes))}
		switch len(bytes) {
		case 1:
			p.Bits = uint64(bytes[0])
		case 2:
			p.Bits = uint64(*(*uint16)(unsafe.Pointer(&v)))
		case 4:
			p.Bits = uint64(*(*uint32)(unsafe.Pointer(&v)))
		case 8:
			p.Bits = *(*uint64)(unsafe.Pointer(&v))
		}
		return stream.Fill(r, p)
	}
	// No device has a pattern as wide as two float64: one element, then what is there as often as it takes.
	have := uint64(len(bytes))
	first := hal.Region{Mem: r.Mem, Off: r.Off, Len: have}
	if err := stream.CopyIn(first, append([]byte(nil), bytes...)); err != nil {
		return err
	}
	for have < r.Len {
		n := min(have, r.Len-have)
		if err := stream.Copy(hal.Region{Mem: r.Mem, Off: r.Off + have, Len: n}, hal.Region{Mem: r.Mem, Off: r.Off, Len: n}); err != nil {
			return err
		}
		have += n
	}
	return nil
}

// CopyFrom makes the elements those of src, of which there are as many. They are copied where they are: on the host if
// all are current there, else within a device that has them all and room for the copy, else on the host. It waits for
// accesses that exclude it, until ctx ends, and for what is copied on the host for work under way. If it cannot have both, b is
// as it was. Two ranges of one buffer that share elements are of kind ErrOverlap.
func (b *Buffer[T]) CopyFrom(ctx context.Context, src *Buffer[T]) error {
	const op = "CopyFrom"
	switch {
	case src == nil:
		return failure(op, hal.ErrInvalidArgument, "nil buffer")
	case b.Len() != src.Len():
		return failure(op, hal.ErrInvalidArgument, "%d elements from %d", b.Len(), src.Len())
	case b.s == src.s && b.lo < src.hi && src.lo < b.hi:
		return failure(op, hal.ErrOverlap, "bytes [%d, %d) from [%d, %d)", b.lo, b.hi, src.lo, src.hi)
	}
	if dev := src.s.home(src.lo, src.hi); dev != nil {
		if err := b.copyOn(ctx, op, dev, src); !errors.Is(err, hal.ErrOutOfMemory) {
			return err
		}
	}
	var to uint32
	return inOrder(b, src,
		func() (func() error, error) {
			b.s.mu.Lock()
			defer b.s.mu.Unlock()
			var err error
			to, err = b.s.reserve(ctx, op, coherence.Overwrite, b.lo, b.hi, nil)
			return func() error { b.s.leave(to); return nil }, err
		},
		func() (func() error, error) {
			slot, err := src.s.enter(ctx, op, coherence.Read, src.lo, src.hi, nil)
			return func() error { src.s.leave(slot); return nil }, err
		},
		func() error {
			if err := b.s.commit(ctx, op, to); err != nil {
				return err
			}
			copy(b.s.host.slice(b.lo, b.hi), src.s.host.slice(src.lo, src.hi))
			return nil
		})
}

// CopyTo makes the elements of dst those of b: dst.CopyFrom(ctx, b).
func (b *Buffer[T]) CopyTo(ctx context.Context, dst *Buffer[T]) error {
	if dst == nil {
		return failure("CopyTo", hal.ErrInvalidArgument, "nil buffer")
	}
	return dst.CopyFrom(ctx, b)
}

func (b *Buffer[T]) copyOn(ctx context.Context, op string, dev *hal.Device, src *Buffer[T]) error {
	stream, err := dev.CopyStream(false)
	if err != nil {
		return err
	}
	var to, from Lease
	var unsure []hazard
	written := false
	return inOrder(b, src,
		func() (func() error, error) {
			slot, gen, err := b.s.acquire(ctx, reserving, op, stream, coherence.Overwrite, b.lo, b.hi, nil)
			to = Lease{b.s, slot, gen}
			return func() error {
				if written {
					return b.s.release(slot, gen, unsure)
				}
				b.s.leave(slot) // it was given no work
				return nil
			}, err
		},
		func() (func() error, error) {
			slot, gen, err := src.s.acquire(ctx, patient, op, stream, coherence.Read, src.lo, src.hi, nil)
			from = Lease{src.s, slot, gen}
			return from.Release, err
		},
		func() error {
			var err error
			if unsure, err = src.s.unsureOf(op, from.slot, b.lo); err != nil {
				return err
			}
			if err := b.s.commit(ctx, op, to.slot); err != nil {
				return err
			}
			written = true
			return stream.Copy(to.Region(), from.Region())
		})
}

// inOrder opens an access to each of two buffers, in the same order whoever asks, so that no two calls wait for each
// other, and runs fn with both.
func inOrder[T Element](a, b *Buffer[T], openA, openB func() (func() error, error), fn func() error) error {
	if b.s.id < a.s.id || b.s.id == a.s.id && b.lo < a.lo {
		openA, openB = openB, openA
	}
	closeA, err := openA()
	if err != nil {
		return err
	}
	closeB, err := openB()
	if err != nil {
		return errors.Join(err, closeA())
	}
	return errors.Join(fn(), closeB(), closeA())
}

// home is the device where all of [lo, hi) is current, nil if it is current on the host or not all in one place.
func (s *storage) home(lo, hi uint64) *hal.Device {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	valid := s.m.State(lo, hi).Valid
	if valid == 0 || valid.Has(coherence.Host) {
		return nil
	}
	return s.replica(valid.First()).dev
}
