package buffer

import (
	"context"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// Prefetch makes the elements current on the stream's device ahead of their use. It does not wait.
func (b *Buffer[T]) Prefetch(stream *hal.Stream) error {
	const op = "Prefetch"
	s := b.s
	if stream == nil {
		return failure(op, hal.ErrInvalidArgument, "nil stream")
	}
	if err := stream.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unpressed(context.Background(), op, func() error {
		if err := s.open(op, false); err != nil {
			return err
		}
		if x := s.conflict(stream.Device(), b.lo, b.hi, false); x != nil {
			return s.conflictError(op, coherence.Read, stream.Device().Name(), b.lo, b.hi, x)
		}
		_, _, err := s.bring(op, stream, coherence.Read, b.lo, b.hi)
		return err
	})
}

// SyncTo makes the elements current on a device, or on the host for nil, and waits until they are.
func (b *Buffer[T]) SyncTo(ctx context.Context, dev *hal.Device) error {
	const op = "SyncTo"
	s := b.s
	if dev == nil {
		slot, err := s.enter(ctx, op, coherence.Read, b.lo, b.hi)
		if err == nil {
			s.leave(slot)
		}
		return err
	}
	stream, err := dev.CopyStream(false)
	if err != nil {
		return err
	}
	slot, gen, err := s.acquire(ctx, true, op, stream, coherence.Read, b.lo, b.hi)
	if err != nil {
		return err
	}
	if err := s.yield(op, stream, b.lo, b.hi); err != nil {
		_ = s.release(slot, gen)
		return err
	}
	mark, err := stream.Mark()
	if rerr := s.release(slot, gen); err == nil {
		err = rerr
	}
	if mark != nil {
		if serr := mark.Sync(ctx); err == nil {
			err = serr
		}
		mark.Release()
	}
	if err != nil {
		s.mu.Lock()
		if r := s.find(dev); r != nil {
			if serr := s.sweep(op, r, b.lo, b.hi); serr != nil {
				err = serr
			}
		}
		s.mu.Unlock()
	}
	return err
}

// Memory is the elements' range of a device's replica, for programs that keep track by themselves with
// SyncTo and MarkModified. It says nothing about what is current. A device that has no replica is of
// kind ErrNotReady.
func (b *Buffer[T]) Memory(dev *hal.Device) (hal.Region, error) {
	const op = "Memory"
	s := b.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(op, false); err != nil {
		return hal.Region{}, err
	}
	if dev == nil {
		return hal.Region{}, failure(op, hal.ErrInvalidArgument, "nil device; the host's replica is reached by View and Update")
	}
	for _, m := range s.host.shares {
		if m.Device().Same(dev) {
			return m.Region(b.lo, b.hi-b.lo), nil
		}
	}
	if r := s.find(dev); r != nil && r.mem != nil {
		return r.region(b.lo, b.hi), nil
	}
	return hal.Region{}, failure(op, hal.ErrNotReady, "%s has no replica", dev.Name())
}

// MarkModified says that work enqueued on the stream has written to the elements on the stream's
// device, outside any lease. Every other replica of them is old from now on. The device's replica must have
// been current: writing to an old one is a conflict, of kind coherence.ErrConflict, and changes nothing.
func (b *Buffer[T]) MarkModified(stream *hal.Stream) error {
	const op = "MarkModified"
	s := b.s
	if stream == nil {
		return failure(op, hal.ErrInvalidArgument, "nil stream; the host writes through Update")
	}
	if err := stream.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(op, true); err != nil {
		return err
	}
	dev := stream.Device()
	if x := s.conflict(dev, b.lo, b.hi, true); x != nil {
		return s.conflictError(op, coherence.Modified, dev.Name(), b.lo, b.hi, x)
	}
	r := s.find(dev)
	if r == nil {
		return &hal.Error{Op: op, Device: -1, Kind: coherence.ErrConflict, Detail: dev.Name() + " has no replica"}
	}
	if _, err := s.m.Plan(coherence.Modified, r.place, b.lo, b.hi, s.cost, s.plan[:0]); err != nil {
		return err
	}
	mem := r.mem
	for _, m := range s.host.shares {
		if m.Device().Same(dev) {
			mem = m
		}
	}
	if mem != nil {
		if err := stream.Use(mem); err != nil {
			return err
		}
	}
	if busy, err := s.unmapForDevice(stream, mem, true); err != nil {
		return err
	} else if busy != nil {
		return s.conflictError(op, coherence.Modified, dev.Name(), b.lo, b.hi, busy)
	}
	s.record(r, stream, b.lo, b.hi, true, false)
	s.wrote(coherence.Modified, r.place, b.lo, b.hi)
	if r.place == coherence.Host {
		s.host.clean = false
	}
	return nil
}

// Discard forgets the elements: they read as zeros from now on, at every place, and nothing is copied.
func (b *Buffer[T]) Discard() error {
	const op = "Discard"
	s := b.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(op, true); err != nil {
		return err
	}
	if x := s.conflict(nil, b.lo, b.hi, true); x != nil {
		return s.conflictError(op, coherence.Discard, "every place", b.lo, b.hi, x)
	}
	s.wrote(coherence.Discard, coherence.Host, b.lo, b.hi)
	return nil
}

// Evict gives the memory of the whole buffer's replica at a device back, or of the host's for nil. What is
// current nowhere else is first copied to the host, or from the host to a device that has a replica; if
// there is none the error is of kind coherence.ErrSoleCopy. It waits for accesses at that place, until ctx
// ends, but not for the copy. A place without a replica is left alone. On a slice it is an error of
// kind ErrInvalidArgument.
func (b *Buffer[T]) Evict(ctx context.Context, dev *hal.Device) error {
	const op = "Evict"
	if b.slice {
		return failure(op, hal.ErrInvalidArgument, "replicas are given back whole, not by the slice")
	}
	s := b.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(op, false); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return interrupted(op, ctx, nil)
	}
	place := "host"
	if dev != nil {
		place = dev.Name()
	}
	if err := s.settle(ctx, op, coherence.Evict, dev, place, 0, s.size); err != nil {
		return err
	}
	return s.evict(op, dev)
}

func (s *storage) evict(op string, dev *hal.Device) error {
	r := s.find(dev)
	if r == nil || !s.m.Allocated().Has(r.place) {
		return nil
	}
	if r.place != coherence.Host {
		if err := s.hold(); err != nil {
			return err
		}
	}
	plan, err := s.m.Plan(coherence.Evict, r.place, 0, s.size, s.cost, s.plan[:0])
	if err != nil {
		return err
	}
	s.plan = plan[:0]
	for _, t := range plan {
		var stream *hal.Stream
		var mem *hal.Memory
		if t.To != coherence.Host {
			to := s.replica(t.To)
			if stream, err = to.dev.CopyStream(false); err != nil {
				return err
			}
			mem = to.mem
		}
		if err := s.move(t, stream, mem, op); err != nil {
			return err
		}
	}
	s.m.Commit(coherence.Evict, r.place, 0, s.size)
	var first error
	keep := func(err error) {
		if first == nil {
			first = err
		}
	}
	if r.place == coherence.Host {
		s.dropHost(keep)
	} else {
		keep(r.free())
	}
	return first
}

// Freeze makes every write to the whole buffer fail with ErrFrozen until Unfreeze has been called as
// often. It fails with a [ConflictError] while a write is under way.
func (b *Buffer[T]) Freeze() error {
	const op = "Freeze"
	s := b.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(op, false); err != nil {
		return err
	}
	if x := s.conflict(nil, 0, s.size, false); x != nil {
		return s.conflictError(op, coherence.Read, "every place", 0, s.size, x)
	}
	s.frozen++
	return nil
}

// Unfreeze takes one Freeze back. Without one it is an error of kind ErrInvalidArgument.
func (b *Buffer[T]) Unfreeze() error {
	const op = "Unfreeze"
	s := b.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(op, false); err != nil {
		return err
	}
	if s.frozen == 0 {
		return failure(op, hal.ErrInvalidArgument, "the buffer is not frozen")
	}
	s.frozen--
	return nil
}
