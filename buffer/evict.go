package buffer

import (
	"context"
	"time"

	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/protocol"
)

// Evict gives the memory of the whole buffer's replica at a device back, or of the host's for nil. What is
// current nowhere else is first copied to the host, or from the host to a device that has a replica; if
// there is none the error is of kind coherence.ErrSoleCopy. It waits for accesses at that place, until ctx
// ends; for the copy it waits only if it is the host's memory that goes. A place without a replica is left alone.
// On a slice it is an error of kind ErrInvalidArgument. The memory that a buffer has adopted goes with
// the buffer and not before, which gives an error of kind ErrUnsupported.
//
// No byte hangs on the copy alone: a device's memory is kept until the copies of its bytes are known to have arrived, and
// the device does not close before. If one fails the replica stays, and is current; the next access that
// would read the bytes fails with the copy's error, once. An access of the device in the meantime finds the replica where it was.
func (b *Buffer[T]) Evict(ctx context.Context, dev *hal.Device) error {
	const op = "Evict"
	if err := b.check(op); err != nil {
		return err
	}
	if b.slice {
		return hal.Errorf(op, hal.ErrInvalidArgument, "replicas are given back whole, not by the slice")
	}
	s := b.s
	s.mu.Lock()
	defer s.mu.Unlock()
	x := &access{op: op, part: s.whole(protocol.Evict)}
	for {
		if err := s.usable(op, false); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return interrupted(op, ctx, nil)
		}
		r := s.find(dev)
		if r == nil || !s.m.Allocated().Has(r.place) || r.leaving {
			return nil
		}
		if r.adopted {
			return hal.Errorf(op, hal.ErrUnsupported, "the memory was adopted, and goes when the buffer is closed")
		}
		busy := s.accesses.find(func(o *access) bool { return o.replica == r })
		if busy == nil {
			var pending []*order.Work
			var err error
			if r.place == protocol.Host {
				pending, err = s.evictHost(x.cause())
			} else {
				err = s.evictFrom(x.cause(), r)
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
					err = s.learn(op, nil, 0, s.size)
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
			return interrupted(op, ctx, s.conflictWith(x, busy))
		}
		if err := s.standBehind(ctx, x, busy); err != nil {
			return interrupted(op, ctx, s.conflictError(op, x.part, deviceName(dev), busy))
		}
	}
}

// evictFrom gives a device's replica back, or begins to: what is current there alone is copied elsewhere, and the replica leaves once all
// copies of its bytes are known to have arrived.
func (s *storage) evictFrom(c cause, r *replica) error {
	begin := now()
	if err := s.hostPresent(c); err != nil {
		return err
	}
	_ = s.learn("", nil, 0, s.size)
	if err := s.rescue(r, c); err != nil {
		return err
	}
	pending, ok := s.arriving(r)
	switch {
	case !ok:
		return s.failedAlready(c)
	case pending == nil:
		return s.part(r, c, begin)
	}
	s.noteEviction(r, c, begin)
	s.leaving++
	r.depart()
	s.watch(r, c, pending)
	return nil
}

// failedAlready is the error of an eviction whose copies have failed. If the program asked for it, it is told of the failure.
func (s *storage) failedAlready(c cause) error {
	if c.client == 0 {
		if err := s.learn(c.op, nil, 0, s.size); err != nil {
			return err
		}
	}
	_ = s.learn("", nil, 0, s.size)
	return hal.Errorf(c.op, hal.ErrBusy, "copies of the replica's bytes have failed")
}

// part gives the memory of a replica back of whose bytes all are elsewhere.
func (s *storage) part(r *replica, c cause, begin time.Time) error {
	if err := s.m.Commit(protocol.Evict, r.place, 0, s.size); err != nil {
		return s.refused(r, c, err)
	}
	if !r.leaving {
		s.noteEviction(r, c, begin)
	}
	return r.free(c)
}

// awaitParting waits until a replica that leaves has left, or stays.
func (r *replica) awaitParting(ctx context.Context, c cause) (stays bool, err error) {
	s := r.owner
	s.mu.Lock()
	defer s.mu.Unlock()
	if !r.leaving {
		return r.present(), nil
	}
	if r.parting == nil {
		r.parting = make(chan struct{})
	}
	parting := r.parting
	begin := now()
	s.unlocked(func() {
		select {
		case <-parting:
		case <-ctx.Done():
		}
	})
	s.waited(c, "work", nil, 0, s.size, begin)
	if r.leaving {
		return false, ctx.Err()
	}
	return r.present(), nil
}

// watch has somebody look again at a replica that is leaving when work has ended that it waits for.
func (s *storage) watch(r *replica, c cause, pending *order.Work) {
	pending.OnEnd(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.lookAgain(r, c)
	})
}

// lookAgain lets a replica go that is leaving, or stay if a copy of its bytes has failed.
func (s *storage) lookAgain(r *replica, c cause) {
	if !r.leaving || s.closed {
		return
	}
	_ = s.learn("", nil, 0, s.size)
	if !r.leaving {
		return // it has the only good copy
	}
	pending, ok := s.arriving(r)
	switch {
	case !ok:
		r.stay()
	case pending != nil:
		s.watch(r, c, pending)
	default:
		_ = s.part(r, c, time.Time{})
	}
}

// arriving returns work that has to end before it is known that all bytes which are current at r are current elsewhere as well; nil
// if there is none. It is not ok if some are known not to be.
func (s *storage) arriving(r *replica) (pending *order.Work, ok bool) {
	ok = true
	s.m.Runs(0, s.size, func(lo, hi uint64, valid protocol.Set) bool {
		if !valid.Has(r.place) {
			return true
		}
		// One other place where the bytes are known to be is enough.
		var first *order.Work
		for p := range valid.Without(r.place).All() {
			w, bad := s.replica(p).order.Unsure(lo, hi)
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

// unready is the error of a copy for which the host has to wait for work first. It stays inside the package.
type unready struct{ works []*order.Work }

func (*unready) Error() string { return "work under way on the host's copy has to end first" }

// waitForNone gives back what an error of evictFrom has, for those who do not wait.
func waitForNone(err error) {
	if u, ok := err.(*unready); ok {
		drop(u.works)
	}
}

// evictHost gives the host's replica back, or returns the work, with a reference each, that has to end first.
func (s *storage) evictHost(c cause) (pending []*order.Work, err error) {
	h := &s.host
	begin := now()
	_ = s.learn("", nil, 0, s.size)
	if pending, err = s.settleHome(c); err != nil || len(pending) > 0 {
		return pending, err
	}
	if err := s.rescue(&h.replica, c); err != nil {
		return nil, err
	}
	switch w, ok := s.arriving(&h.replica); {
	case !ok:
		return nil, s.failedAlready(c)
	case w != nil:
		return []*order.Work{w.Retain()}, nil
	}
	if err := s.m.Commit(protocol.Evict, protocol.Host, 0, s.size); err != nil {
		return nil, s.refused(&h.replica, c, err)
	}
	s.noteEviction(&h.replica, c, begin)
	u := h.lastUse()
	h.drop(u, func(e error) {
		if err == nil {
			err = e
		}
	}, c)
	if u != nil {
		u.over()
	}
	return nil, err
}

// rescue copies what is current at r alone to another place.
func (s *storage) rescue(r *replica, c cause) error {
	plan, err := s.m.Plan(protocol.Evict, r.place, 0, s.size, s.cost, s.scratch.plan[:0])
	if err != nil {
		return s.refused(r, c, err)
	}
	s.scratch.plan = plan[:0]
	left, err := s.carry(plan, c)
	if len(left) > 0 {
		return &unready{left}
	}
	return err
}

// refused is the error of an eviction that the protocol has refused.
func (s *storage) refused(r *replica, c cause, err error) error {
	if _, ok := err.(*protocol.RefusalError); !ok {
		return err
	}
	return hal.Errorf(c.op, coherence.ErrSoleCopy, "bytes are current at %s alone, and no other place can take them", s.placeName(r.place, nil))
}

// carry enqueues the copies of a plan that no access asked for, or returns the work, with a reference each, that has to end first.
func (s *storage) carry(plan []protocol.Transfer, c cause) (left []*order.Work, err error) {
	if len(plan) == 0 {
		return nil, nil
	}
	busy, err := s.handOver(nil, plan, nil, nil)
	if err != nil {
		return nil, err
	}
	if busy != nil {
		return nil, s.conflictError(c.op, s.whole(protocol.Evict), s.placeName(plan[0].From, nil), busy)
	}
	if left, err = s.lineCopies(plan, nil); err != nil || len(left) > 0 {
		return left, err
	}
	return nil, s.copy(plan, nil, nil, c)
}
