package buffer

import (
	"context"
	"time"

	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/protocol"
)

// Evict frees the memory of the whole buffer's replica at a device, or at the host if dev is nil. Bytes that are
// current nowhere else are first copied: from a device to the host, and from the host to a device that has a replica. If
// there is no such device the error is of kind coherence.ErrSoleCopy. If the device works on the host's replica in place, as the
// host device does, Evict frees the host's replica. Evict waits until ctx ends for accesses at the replica's place, and for leases that are not
// committed yet (see [ReserveAll]) if their work overwrites the bytes at the place to which these would have to be copied.
// It waits for the copies only if it frees the host's memory. At a place without a replica it does nothing.
// Evict of a slice is an error of kind ErrInvalidArgument, and Evict of adopted memory one of kind ErrUnsupported, because
// that memory stays until the buffer is closed.
//
// A failed copy loses nothing: a device's memory is kept until the copies of its bytes are known to have succeeded, and
// the device cannot be closed before. If a copy fails, the replica stays current, and the next access that
// would read the bytes fails with the copy's error, once. Until the memory is freed, an access of the device can still use the replica.
func (b *Buffer[T]) Evict(ctx context.Context, dev *hal.Device) error {
	const op = "Evict"
	if err := b.check(op); err != nil {
		return err
	}
	if b.slice {
		return hal.Errorf(op, hal.ErrInvalidArgument, "a slice cannot be evicted, only its whole buffer")
	}
	s := b.s
	s.mu.Lock()
	defer s.unlock()
	x := s.standIn(op, s.whole(protocol.Evict))
	for {
		if err := s.usable(op, false); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return interrupted(op, ctx, nil)
		}
		r := s.places.find(dev)
		if r == nil || !s.m.Allocated().Has(r.place) || r.Leaving() {
			return nil
		}
		if r.adopted {
			return hal.Errorf(op, hal.ErrUnsupported, "adopted memory stays until the buffer is closed")
		}
		busy := s.find(func(o *access) bool { return o.replica == r })
		if busy == nil {
			var pending []*order.Work
			var err error
			if r.place == protocol.Host {
				pending, err = s.host.evict(x.cause())
			} else {
				err = r.evict(x.cause())
			}
			switch e := err.(type) {
			case nil:
			case *unready:
				pending, err = e.works, nil
			case *ConflictError:
				busy, err = e.holder, nil
			}
			if len(pending) > 0 {
				if err = s.await(ctx, x.cause(), nil, 0, s.size, pending); err == nil {
					if failed := s.learn(nil, 0, s.size); failed != nil {
						err = s.failed(op, 0, s.size, failed)
					}
				}
				if err == nil {
					continue
				}
			}
			if err != nil || busy == nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return interrupted(op, ctx, x.conflictWith(busy))
		}
		if err := s.standBehind(ctx, x, busy); err != nil {
			return interrupted(op, ctx, s.conflictError(op, x.Part, deviceName(dev), busy))
		}
	}
}

// standBehind waits until other has ended, with the storage unlocked. x stands for a call.
func (s *storage) standBehind(ctx context.Context, x *access, other *access) error {
	w := s.take()
	w.op, w.Part = x.op, x.Part
	err := s.pause(ctx, w, other)
	s.drop(w)
	if err != nil {
		return interrupted(x.op, ctx, x.conflictWith(other)) // w was still waiting for other
	}
	return nil
}

// eviction is one attempt to free the memory of a replica. storage.mu is held for its methods.
type eviction struct {
	*replica
	c     cause
	begin time.Time // zero if there are no observers
}

// evict frees a device's replica, or begins to: bytes that are current only there are copied elsewhere, and the memory is freed when
// all copies of its bytes are known to have succeeded.
func (r *replica) evict(c cause) error {
	s, e := r.owner, eviction{r, c, now()}
	if err := s.hostReady(c); err != nil {
		return err
	}
	_ = s.learn(nil, 0, s.size)
	if err := e.rescue(); err != nil {
		return err
	}
	pending, ok := e.arriving()
	switch {
	case !ok:
		return e.failed()
	case pending == nil:
		return e.finish()
	}
	e.note()
	s.leaving++
	r.Leave()
	e.watch(pending)
	return nil
}

// failed is the error of an eviction whose copies have failed. If the program asked for the eviction, it is the copies' error.
func (e eviction) failed() error {
	s, c := e.owner, e.c
	if c.client == 0 {
		if failed := s.learn(nil, 0, s.size); failed != nil {
			return s.failed(c.op, 0, s.size, failed)
		}
	}
	_ = s.learn(nil, 0, s.size)
	return hal.Errorf(c.op, hal.ErrBusy, "copies of the replica's bytes have failed")
}

// finish frees the memory of a replica whose bytes are all current elsewhere.
func (e eviction) finish() error {
	s := e.owner
	if err := s.m.Commit(protocol.Evict, e.place, 0, s.size); err != nil {
		return e.refused(err)
	}
	s.classify()
	if !e.Leaving() {
		e.note()
	}
	return e.free(e.c)
}

// watch calls lookAgain for a leaving replica when pending has ended.
func (e eviction) watch(pending *order.Work) {
	pending.OnEnd(func() {
		e.owner.mu.Lock()
		defer e.owner.mu.Unlock() // no call of the program that unlock could panic in; the next one does
		e.lookAgain()
	})
}

// lookAgain frees a leaving replica if the copies of its bytes have succeeded, keeps it if one has failed, and otherwise watches on.
func (e eviction) lookAgain() {
	s := e.owner
	if !e.Leaving() || s.closed {
		return
	}
	_ = s.learn(nil, 0, s.size)
	if !e.Leaving() {
		return // it stays, because it has the only good copy
	}
	pending, ok := e.arriving()
	switch {
	case !ok:
		e.stay()
	case pending != nil:
		e.watch(pending)
	default:
		_ = e.finish()
	}
}

// arriving finds out whether all bytes that are current at the replica are also current elsewhere. If they are known to be, pending is nil and
// ok is true. If work has to end before that is known, pending is such work. If some of the bytes are known to be nowhere else, ok is false.
func (e eviction) arriving() (pending *order.Work, ok bool) {
	s := e.owner
	ok = true
	s.m.Runs(0, s.size, func(lo, hi uint64, valid protocol.Set) bool {
		if !valid.Has(e.place) {
			return true
		}
		// It is enough that one other place is known to have the bytes.
		var first *order.Work
		for p := range valid.Without(e.place).All() {
			w, bad := s.places.replica(p).order.Unsure(lo, hi)
			switch {
			case bad:
			case w == nil:
				return true
			case first == nil:
				first = w
			}
		}
		pending, ok = first, first != nil
		return false
	})
	return pending, ok
}

// unready is the error of a copy that can be enqueued only after the host has waited for works. No call returns it to the program.
type unready struct{ works []*order.Work }

func (*unready) Error() string { return "earlier work on the host's replica has to end first" }

// evict frees the host's replica. If work has to end first, it returns that work, with a reference to each, and frees nothing.
func (h *hostReplica) evict(c cause) (pending []*order.Work, err error) {
	s, e := h.owner, eviction{&h.replica, c, now()}
	_ = s.learn(nil, 0, s.size)
	if err := e.rescue(); err != nil {
		return nil, err
	}
	switch w, ok := e.arriving(); {
	case !ok:
		return nil, e.failed()
	case w != nil:
		return []*order.Work{w.Retain()}, nil
	}
	if err := s.m.Commit(protocol.Evict, protocol.Host, 0, s.size); err != nil {
		return nil, e.refused(err)
	}
	s.classify()
	e.note()
	s.dropHost(func(failed error) {
		if err == nil {
			err = failed
		}
	}, c).Over()
	return nil, err
}

// rescue copies bytes that are current only at the replica to another place.
func (e eviction) rescue() error {
	s := e.owner
	plan, err := s.m.Plan(protocol.Evict, e.place, 0, s.size, s.places.cost, s.scratch.plan[:0])
	if err != nil {
		return e.refused(err)
	}
	s.scratch.plan = plan[:0]
	left, err := s.carry(plan, e.c)
	if len(left) > 0 {
		return &unready{left}
	}
	return err
}

// refused is the error of an eviction that the protocol has refused.
func (e eviction) refused(err error) error {
	if _, ok := err.(*protocol.RefusalError); !ok {
		return err
	}
	return hal.Errorf(e.c.op, coherence.ErrSoleCopy, "bytes are current only at %s, and there is no other place to copy them to", e.owner.places.name(e.place, nil))
}

// carry enqueues the copies of a plan that belong to no access. If work has to end first, it returns that work, with a reference to each, and
// enqueues nothing.
func (s *storage) carry(plan []protocol.Transfer, c cause) (left []*order.Work, err error) {
	// The writes of a group whose accesses have begun may not be committed yet. Then the bytes are still current elsewhere, but a copy of them
	// could overwrite what the group's work writes.
	for _, t := range plan {
		if busy := s.writing(t.To, t.Lo, t.Hi); busy != nil {
			return nil, s.conflictError(c.op, s.whole(protocol.Evict), s.places.name(t.From, nil), busy)
		}
	}
	if left, err = s.orderCopies(plan, nil); err == nil && len(left) == 0 {
		err = s.copy(plan, nil, nil, c)
	}
	return left, err
}
