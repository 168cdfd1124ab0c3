package buffer

import (
	"context"
	"runtime/trace"
	"time"

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
		if x := s.conflict(stream.Device(), b.lo, b.hi, nil, false); x != nil {
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
		slot, err := s.enter(ctx, op, coherence.Read, b.lo, b.hi, nil)
		if err == nil {
			s.leave(slot)
		}
		return err
	}
	stream, err := dev.CopyStream(false)
	if err != nil {
		return err
	}
	slot, gen, err := s.acquire(ctx, patient, op, stream, coherence.Read, b.lo, b.hi, nil)
	if err != nil {
		return err
	}
	if err := s.yield(op, stream, b.lo, b.hi); err != nil {
		_ = s.release(slot, gen, nil)
		return err
	}
	mark, err := stream.Mark()
	if rerr := s.release(slot, gen, nil); err == nil {
		err = rerr
	}
	if mark != nil {
		begin := now()
		region := trace.StartRegion(ctx, "halyard: wait")
		if serr := mark.Sync(ctx); err == nil {
			err = serr
		}
		region.End()
		s.waited(cause{op: op}, "work", dev, b.lo, b.hi, begin)
		mark.Release()
	}
	s.mu.Lock()
	if serr := s.resolve(op, b.lo, b.hi, true); serr != nil {
		err = serr
	}
	s.mu.Unlock()
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
	if m := s.inPlace(dev); m != nil {
		return s.region(&s.host.replica, m, b.lo, b.hi), nil
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
	if x := s.conflict(dev, b.lo, b.hi, nil, true); x != nil {
		return s.conflictError(op, coherence.Modified, dev.Name(), b.lo, b.hi, x)
	}
	r := s.find(dev)
	if r == nil {
		return &hal.Error{Op: op, Device: -1, Kind: coherence.ErrConflict, Detail: dev.Name() + " has no replica"}
	}
	if err := s.notice(op, r, b.lo, b.hi); err != nil {
		return err
	}
	if _, err := s.m.Plan(coherence.Modified, r.place, b.lo, b.hi, s.cost, s.plan[:0]); err != nil {
		return err
	}
	mem := r.mem
	if r.place == coherence.Host {
		mem = s.inPlace(dev)
		if err := s.host.usedOn(stream, mem); err != nil {
			return err
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
	s.record(r, stream, hazard{lo: b.lo, hi: b.hi, write: true})
	s.wrote(coherence.Modified, r.place, b.lo, b.hi)
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
	if x := s.conflict(nil, b.lo, b.hi, nil, true); x != nil {
		return s.conflictError(op, coherence.Discard, "every place", b.lo, b.hi, x)
	}
	s.wrote(coherence.Discard, coherence.Host, b.lo, b.hi)
	return nil
}

// Evict gives the memory of the whole buffer's replica at a device back, or of the host's for nil. What is
// current nowhere else is first copied to the host, or from the host to a device that has a replica; if
// there is none the error is of kind coherence.ErrSoleCopy. It waits for accesses at that place, until ctx
// ends; for the copy it waits only if it is the host's memory that goes. A place without a replica is left alone.
// On a slice it is an error of kind ErrInvalidArgument. The memory that a buffer has adopted goes with
// the buffer and not before, which gives an error of kind ErrUnsupported.
//
// No byte hangs on the copy alone: a device's memory is kept until the copies out of it are known to have arrived, and
// the device does not close before. If one fails, the replica is back and current, and the next access that
// would read the bytes fails with the copy's error, once.
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
	if err := s.settle(ctx, op, coherence.Evict, dev, place, 0, s.size, nil); err != nil {
		return err
	}
	return s.evict(ctx, cause{op: op, action: coherence.Evict}, dev)
}

func (s *storage) evict(ctx context.Context, c cause, dev *hal.Device) error {
	r := s.find(dev)
	if r == nil || !s.m.Allocated().Has(r.place) {
		return nil
	}
	if r.adopted {
		return failure(c.op, hal.ErrUnsupported, "the memory was adopted, and goes when the buffer is closed")
	}
	begin := now()
	if r.place == coherence.Host {
		return s.evictHost(ctx, c, begin)
	}
	if err := s.hold(c); err != nil {
		return err
	}
	_ = s.resolve("", 0, s.size, true)
	if err := s.rescue(r, c); err != nil {
		return err
	}
	current := s.currentAt(r.place)
	needed := r.hazards.unsaved(len(current) > 0)
	if err := s.m.Commit(coherence.Evict, r.place, 0, s.size); err != nil {
		return err
	}
	s.noteEviction(r, c, begin)
	if needed {
		s.depart(r, current, c)
		return nil
	}
	return r.free(c)
}

// evictHost gives the host's replica back, once what is copied from it has arrived.
func (s *storage) evictHost(ctx context.Context, c cause, begin time.Time) error {
	h := &s.host
	_ = s.resolve("", 0, s.size, true)
	for {
		if err := s.rescue(&h.replica, c); err != nil {
			return err
		}
		pending := h.hazards.saving(nil)
		if len(pending) == 0 {
			break
		}
		s.mu.Unlock()
		err := s.await(ctx, c, 0, s.size, pending)
		s.mu.Lock()
		if err != nil {
			return interrupted(c.op, ctx, nil)
		}
		if err := s.resolve(c.op, 0, s.size, true); err != nil {
			return err
		}
		if err := s.open(c.op, false); err != nil {
			return err
		}
		if err := s.settle(ctx, c.op, coherence.Evict, nil, "host", 0, s.size, nil); err != nil {
			return err
		}
		if !s.m.Allocated().Has(coherence.Host) {
			return nil
		}
	}
	if err := s.m.Commit(coherence.Evict, coherence.Host, 0, s.size); err != nil {
		return err
	}
	s.noteEviction(&h.replica, c, begin)
	var first error
	u := h.lastUse()
	s.dropHost(u, func(err error) {
		if first == nil {
			first = err
		}
	}, c)
	if u != nil {
		u.over()
	}
	return first
}

// rescue copies what is current at r alone to another place.
func (s *storage) rescue(r *replica, c cause) error {
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
		if err := s.move(t, stream, mem, c); err != nil {
			return err
		}
	}
	return nil
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
	if x := s.conflict(nil, 0, s.size, nil, false); x != nil {
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
