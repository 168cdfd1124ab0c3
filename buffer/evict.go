package buffer

import (
	"context"
	"runtime/trace"
	"strings"
	"time"

	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/buffer/internal/resident"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/protocol"
)

// evict frees a replica: bytes that are current only there are copied elsewhere, and the memory is freed when all copies of its bytes are
// known to have succeeded. Until then a device's replica is leaving. For the host's replica, and if a copy cannot be enqueued yet, the
// error is an unready with the work that has to end first.
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
	// The writes of a group whose accesses have begun may not be committed yet. Then the bytes are still current elsewhere, but a copy of
	// them could overwrite what the group's work writes.
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
		return s.failedError(nil, c.op, 0, s.size, failed)
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

// watchLeaving frees a leaving replica when the copies of its bytes have succeeded, or keeps it if one has failed. pending is work that has
// to end first.
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
func (s *storage) makeRoom(ctx context.Context, q *request, p *resident.Pressure, room *roomFor) (err error) {
	op := room.op
	if q.turn == nil && !q.try {
		q.turn = p.Queue(q.division)
	}
	if q.turn != nil && !q.turn.First() {
		return &lack{s, p}
	}
	switch {
	case room.times == attempts:
		return p.Exhausted(op)
	case room.evicted && room.try:
		return roomLater(op, p)
	}
	room.times++
	s.unlocked(func() {
		switch {
		case p.Behind: // it was the last in line that left
		case room.evicted: // the eviction was not enough
			room.evicted, err = false, s.reclaim(ctx, op, p)
		default:
			room.evicted, err = p.Relieve(ctx, op, s.id, room.try)
		}
	})
	switch {
	case resident.IsFull(err) && room.try:
		return p.Exhausted(op)
	case resident.IsFull(err):
		return &lack{s, p}
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

// lack is the error of an access that lacks memory because of open accesses, or because other calls wait for memory already. No call returns
// it to the program.
type lack struct {
	s *storage
	p *resident.Pressure
}

func (l *lack) Error() string { return l.p.Error() }

// again ends an attempt of a call. If err is a lack, it waits for memory that leases keep (internal/resident/turn.go), with no access open,
// and reports whether the call has to try again from the beginning. Otherwise it takes the call out of the line, and returns its error.
func (q *request) again(ctx context.Context, err error) (bool, error) {
	short, ok := err.(*lack)
	if ok {
		begin := now()
		region := trace.StartRegion(ctx, "halyard: wait")
		ok = q.turn.Await(ctx)
		region.End()
		short.s.waited(cause{op: q.op, action: protocol.Evict, client: short.s.id, why: "out of memory"}, "memory", short.p.Dev, 0,
			short.s.size, begin)
		if ok {
			return true, nil
		}
		if err = short.p.Exhausted(q.op); ctx.Err() != nil {
			err = gaveUp(q.op, ctx, strings.TrimPrefix(err.Error(), q.op+": "), err)
		}
	}
	q.leave()
	return false, err
}

// leave takes a call out of the line if it is in one.
func (q *request) leave() {
	if q.turn != nil {
		q.turn.Leave()
		q.turn = nil
	}
}

// Brief implements resident.Replica.
func (r *replica) Brief(but *resident.Division) bool {
	s := r.storage
	s.mu.Lock()
	defer s.unlock()
	used, brief := false, true
	s.queue.Opened(func(x *access) {
		if x.replica == r {
			used, brief = true, brief && x.brief && (but == nil || x.division != but)
		}
	})
	return used && brief
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
		s.forgetRecent(r) // the next access looks whether others wait for the memory
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
