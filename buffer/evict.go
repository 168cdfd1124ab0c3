package buffer

import (
	"context"
	"runtime/trace"
	"strings"
	"time"

	"github.com/go-halyard/halyard/buffer/internal/hostmem"
	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/buffer/internal/resident"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/protocol"
)

// Evict frees the memory of the whole buffer's replica at a device, or at the host if dev is nil. Bytes that are current nowhere else are
// first copied: from a device to the host, and from the host to a device that has a replica. If there is no such device the error is of
// kind coherence.ErrSoleCopy. If the device works on the host's replica in place, as the host device does, Evict frees the host's
// replica. Evict waits until ctx ends for accesses at the replica's place, and for leases that are not committed yet (see [ReserveAll])
// if their work overwrites the bytes at the place to which these would have to be copied. It waits for the copies only if it frees the
// host's memory. At a place without a replica it does nothing. Evict of a slice is an error of kind ErrInvalidArgument, and Evict of
// adopted memory one of kind ErrUnsupported, because that memory stays until the buffer is closed.
//
// A failed copy loses nothing: a device's memory is kept until the copies of its bytes are known to have succeeded, and
// the device cannot be closed before. If a copy fails, the replica stays current, and the bytes are copied again when an access needs
// them; if such an access is the first to find the failure, it fails with the copy's error. Until the memory is freed, an access of the
// device can still use the replica.
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
		r := s.replicaOn(dev)
		if r == nil || !s.m.Allocated().Has(r.place) || r.Leaving() {
			return nil
		}
		if r.adopted {
			return hal.Errorf(op, hal.ErrUnsupported, "adopted memory stays until the buffer is closed")
		}
		busy := s.queue.Find(func(o *access) bool { return o.replica == r })
		if busy == nil {
			var pending []*order.Work
			err := s.evict(r, x.cause)
			switch e := err.(type) {
			case nil:
			case *unready:
				pending, err = e.works, nil
			case *ConflictError:
				busy, err = e.holder, nil
			}
			if len(pending) > 0 {
				if err = s.await(ctx, x.cause, nil, 0, s.size, pending); err == nil {
					if failed := s.learn(nil, nil, 0, s.size); failed != nil {
						err = s.failedError(op, 0, s.size, failed)
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
	w := s.newAccess(x.op, nil, x.Part)
	w.replica = nil
	err := s.pause(ctx, w, other)
	s.end(w)
	if err != nil {
		return interrupted(x.op, ctx, x.conflictWith(other)) // w was still waiting for other
	}
	return nil
}

// unready is the error of a step before which the host has to wait for works; each has a reference. No call returns it to the program.
type unready struct{ works []*order.Work }

func (*unready) Error() string { return "earlier work on the host's replica has to end first" }

// evict frees a replica: bytes that are current only there are copied elsewhere, and the memory is freed when all copies of its bytes are
// known to have succeeded. Until then a device's replica is leaving, and for the host's the error is an unready.
func (s *storage) evict(r *replica, c cause) error {
	begin := now()
	if r.place != protocol.Host {
		if err := s.hostReady(c); err != nil {
			return err
		}
	}
	_ = s.learn(nil, nil, 0, s.size)
	plan, err := s.m.Plan(protocol.Evict, r.place, 0, s.size, s.cost, s.scratch.plan[:0])
	if err != nil {
		return s.refused(r, c, err)
	}
	s.scratch.plan = plan[:0]
	// The writes of a group whose accesses have begun may not be committed yet. Then the bytes are still current elsewhere, but a copy of them
	// could overwrite what the group's work writes.
	for _, t := range plan {
		if busy := s.writing(t.To, t.Lo, t.Hi); busy != nil {
			return s.conflictError(c.op, s.whole(protocol.Evict), s.placeName(t.From, nil), busy)
		}
	}
	if left, _, err := s.move(plan, nil, nil, c); err != nil {
		return err
	} else if len(left) > 0 {
		return &unready{left}
	}
	pending, ok := s.currentElsewhere(r)
	switch {
	case !ok:
		return s.evictionFailed(c)
	case pending == nil:
		return s.finishEviction(r, c, begin)
	case r.place == protocol.Host:
		return &unready{[]*order.Work{pending.Retain()}}
	}
	s.noteEviction(r, c, begin)
	s.leaving++
	r.Leave()
	s.forgetRecent(r)
	s.watchLeaving(r, c, pending)
	return nil
}

// refused is the error of an eviction that the protocol has refused.
func (s *storage) refused(r *replica, c cause, err error) error {
	if _, ok := err.(*protocol.RefusalError); !ok {
		return err
	}
	return hal.Errorf(c.op, coherence.ErrSoleCopy, "bytes are current only at %s, and there is no other place to copy them to",
		s.placeName(r.place, nil))
}

// currentElsewhere finds out whether all bytes that are current at the replica are also current elsewhere. If they are known to be, pending
// is nil and ok is true. If work has to end before that is known, pending is such work. If some of the bytes are known to be nowhere else,
// ok is false.
func (s *storage) currentElsewhere(r *replica) (pending *order.Work, ok bool) {
	ok = true
	s.m.Runs(0, s.size, func(lo, hi uint64, valid protocol.Set) bool {
		if !valid.Has(r.place) {
			return true
		}
		// It is enough that one other place is known to have the bytes.
		var first *order.Work
		for p := range valid.Without(r.place).All() {
			w, bad := s.at[p].order.Unsure(lo, hi)
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

// evictionFailed is the error of an eviction whose copies have failed. If the program asked for the eviction, it is the copies' error.
func (s *storage) evictionFailed(c cause) error {
	if failed := s.learn(nil, nil, 0, s.size); failed != nil && c.client == 0 {
		return s.failedError(c.op, 0, s.size, failed)
	}
	return hal.Errorf(c.op, hal.ErrBusy, "copies of the replica's bytes have failed")
}

// finishEviction frees the memory of a replica whose bytes are all current elsewhere. begin is zero if the eviction has been reported.
func (s *storage) finishEviction(r *replica, c cause, begin time.Time) (err error) {
	if err := s.m.Commit(protocol.Evict, r.place, 0, s.size); err != nil {
		return s.refused(r, c, err)
	}
	s.updateSoles()
	s.noteEviction(r, c, begin)
	if r.place != protocol.Host {
		return r.free(c)
	}
	s.dropHost(func(failed error) {
		if err == nil {
			err = failed
		}
	}, c).Over()
	return err
}

// watchLeaving frees a leaving replica when the copies of its bytes have succeeded, or keeps it if one has failed. pending is such a copy.
func (s *storage) watchLeaving(r *replica, c cause, pending *order.Work) {
	pending.OnEnd(func() {
		s.mu.Lock()
		defer s.mu.Unlock() // no call of the program that unlock could panic in; the next one does
		if !r.Leaving() || s.closed {
			return
		}
		_ = s.learn(nil, nil, 0, s.size)
		if !r.Leaving() {
			return // it stays, because it has the only good copy
		}
		pending, ok := s.currentElsewhere(r)
		switch {
		case !ok:
			r.stay()
		case pending != nil:
			s.watchLeaving(r, c, pending)
		default:
			_ = s.finishEviction(r, c, time.Time{})
		}
	})
}

// attempts is the number of times that room is made for one allocation. Each time other allocations may take the room first.
const attempts = 64

// roomFor is what has been done so far to make room for one access.
type roomFor struct {
	op      string
	try     bool
	times   int
	evicted bool // the last time replicas were evicted, and work under way may still use their memory
}

// makeRoom makes room for an access that has failed to allocate with p, with the storage unlocked. If try is set it does not wait.
func (s *storage) makeRoom(ctx context.Context, p *resident.Pressure, room *roomFor) (err error) {
	op := room.op
	switch {
	case room.times == attempts:
		return p.Exhausted(op)
	case room.evicted && room.try:
		return roomLater(op, p)
	}
	room.times++
	s.unlocked(func() {
		if room.evicted { // the eviction was not enough
			room.evicted, err = false, s.reclaim(ctx, op, p)
		} else {
			room.evicted, err = p.Relieve(ctx, op, s.id, room.try)
		}
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		full := p.Exhausted(op)
		return gaveUp(op, ctx, strings.TrimPrefix(full.Error(), op+": "), full)
	case resident.IsLater(err):
		return roomLater(op, p)
	}
	return err
}

// roomLater is the error of a call that does not wait, if there will be room when earlier work has ended.
func roomLater(op string, p *resident.Pressure) error {
	return &hal.Error{Op: op, Device: -1, Kind: hal.ErrNotReady, Err: p.Exhausted(op),
		Detail: "earlier work on " + p.Dev.Name() + " has to end before there is room"}
}

// reclaim waits until the device has freed all closed memory, because work under way may still use evicted memory. The storage
// is not locked.
func (s *storage) reclaim(ctx context.Context, op string, p *resident.Pressure) error {
	begin := now()
	defer trace.StartRegion(ctx, "halyard: wait").End()
	err := p.Dev.Reclaim(ctx)
	s.waited(cause{op: op, action: protocol.Evict, client: s.id, why: "out of memory"}, "memory", p.Dev, 0, s.size, begin)
	return err
}

// Evict implements resident.Replica.
func (r *replica) Evict(why resident.Cause) (freed, written uint64, leased, ok bool) {
	s := r.storage
	s.mu.Lock()
	defer s.unlock()
	switch {
	case s.closed || r.Mem == nil || r.Leaving():
		return 0, 0, false, false
	case r.ParkIfLeased():
		return 0, 0, true, false
	}
	before := s.stats.BytesCopied
	if err := s.evict(r, cause{why.Op, protocol.Evict, why.Client, why.Why}); err != nil {
		if u, ok := err.(*unready); ok {
			for _, w := range u.works {
				w.Release()
			}
		}
		return 0, 0, false, false
	}
	if !r.Leaving() {
		freed = s.size
	}
	return freed, s.stats.BytesCopied - before, false, true
}

// AwaitLeaving implements resident.Replica.
func (r *replica) AwaitLeaving(ctx context.Context, why resident.Cause) (stays bool, err error) {
	s := r.storage
	s.mu.Lock()
	defer s.unlock()
	if !r.Leaving() {
		return r.Mem != nil, nil
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
	s.waited(cause{why.Op, protocol.Evict, why.Client, why.Why}, "work", nil, 0, s.size, begin)
	if r.Leaving() {
		return false, ctx.Err()
	}
	return r.Mem != nil, nil
}

// updateSole records whether bytes are current only at r. If the state has more than one interval, it changes nothing.
func (r *replica) updateSole() {
	if s := r.storage; s.m.Len() == 1 {
		r.SetSole(s.m.Sole(0, s.size, r.place))
	}
}

// updateSoles does that for every replica, after one of them has lost bytes.
func (s *storage) updateSoles() {
	for _, r := range s.at[1:] {
		r.updateSole()
	}
}

// writing returns an access that writes bytes of [lo, hi) at a place and has its bytes ready there, or nil. Its work need not be in the
// place's Order yet.
func (s *storage) writing(p protocol.Place, lo, hi uint64) (x *access) {
	s.queue.Writers(lo, hi, func(o *access, _, _ uint64) bool {
		if o.ready && o.place == p {
			x = o
		}
		return x == nil
	})
	return x
}

// close frees everything. Work under way goes on.
func (s *storage) close() error {
	s.mu.Lock()
	u, err := s.shut("Close")
	thrown := s.unlockFirst()
	u.Over()
	raise(thrown)
	return err
}

// closeAfter ends an access that has only read, and closes the buffer unless another access uses it or waits for it.
func (s *storage) closeAfter(op string, x *access) (closed bool, err error) {
	s.mu.Lock()
	x.since = 0 // no use is reported to observers
	s.end(x)
	var u *hostmem.LastUse
	if err = s.usable(op, true); err == nil {
		u, err = s.shut(op)
		closed = s.closed
	}
	thrown := s.unlockFirst()
	u.Over()
	raise(thrown)
	return closed, err
}

// shut is close for a caller that has locked the storage. The caller calls u.Over after unlocking it.
func (s *storage) shut(op string) (u *hostmem.LastUse, err error) {
	if s.closed {
		return nil, nil
	}
	if x := s.queue.Find(func(*access) bool { return true }); x != nil {
		e := s.conflictError(op, s.whole(protocol.Reset), "every place", x)
		e.Requested.Action = "Close"
		return nil, e
	}
	s.closed = true
	c := cause{op: "Close", action: protocol.Reset}
	var first error
	keep := func(err error) {
		if first == nil {
			first = err
		}
	}
	for _, r := range s.at[1:] {
		if r.Mem != nil {
			keep(r.free(c))
		}
	}
	u = s.dropHost(keep, c)
	return u, first
}
