package buffer

import (
	"context"
	"runtime/trace"
	"slices"
	"time"

	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/buffer/internal/resident"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/callsite"
	"github.com/go-halyard/halyard/internal/debug"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/protocol"
	"github.com/go-halyard/halyard/internal/span"
)

// This file is the path of every access, in the order of the calls: begin; its steps admit and prepare; bring, which prepare repeats, and
// its steps place, decide, move (copy.go), orderWork and makeReady; commit, which ends prepare; the waits between them; recordWork,
// which the release of a lease (lease.go) calls; and end. The storage is locked throughout, except during waits.

// begin begins an access: at once if it repeats an earlier one (fast.go), otherwise by the steps below. On the host, and for an awaited
// access, the bytes are there when it returns; otherwise the copies that the access needs are enqueued.
func (s *storage) begin(ctx context.Context, q *request) (*access, error) {
	if !validMode(q.Mode) {
		return nil, modeError(q.op, q.Mode)
	}
	if q.stream != nil {
		if err := layer.Err(q.stream); err != nil {
			return nil, err
		}
	}
	if ctx == nil {
		return nil, layer.Ended(q.op, ctx)
	}
	refuseCallbacks()
	ended := !q.try && ctx.Err() != nil // without the lock, because a method of ctx may panic
	s.mu.Mutex.Lock()
	var asked order.Asked
	if !ended && s.canBeginAtOnce(q, &asked) {
		x := s.beginAgain(q)
		s.mu.Unlock()
		return x, nil
	}
	defer s.unlock()
	defer q.leave() // also if an observer panics
	for {
		x, err := s.admit(ctx, q)
		if err == nil {
			err = s.prepare(ctx, x, q)
		}
		if err == nil && q.turn == nil {
			return x, nil
		}
		again := false
		if _, ok := err.(*lack); ok {
			s.unlocked(func() { again, err = q.again(ctx, err) })
		} else {
			_, err = q.again(ctx, err)
		}
		if err != nil {
			return nil, err
		} else if !again {
			return x, nil
		}
	}
}

// admit opens an access when no earlier one excludes it. It waits until then, or fails at once if q.try is set. After an
// error there is no access.
func (s *storage) admit(ctx context.Context, q *request) (*access, error) {
	if err := s.usable(q.op, q.Writes()); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, interrupted(q.op, ctx, nil)
	}
	x, admitted := s.newAccess(q.op, q.own, q.part), false
	defer func() { // also if a method of ctx panics
		if !admitted {
			s.end(x)
		}
	}()
	x.stream, x.Parts, x.awaited, x.awaitReaders = q.stream, q.parts, q.awaited || q.stream == nil, q.awaitReaders
	x.replica, x.place, x.mem, x.counted = nil, protocol.NoPlace, nil, false
	x.brief, x.division, x.ahead = q.brief, q.division, q.turn != nil || q.try || q.under != nil
	if q.stream == nil {
		x.replica, x.place = &s.host.replica, protocol.Host
	}
	var with *queueEntry
	if q.under != nil {
		with = &q.under.Entry
	}
	b := s.queue.Enter(&x.Entry, with, !q.try)
	if admitted = b == nil; admitted {
		return x, nil
	}
	var err error
	if q.try {
		err = x.conflictWith(b.Of)
	} else if err = s.pause(ctx, x, b.Of); err != nil {
		var holder *ConflictError
		if b := s.queue.Excluding(&x.Entry); b != nil {
			holder = x.conflictWith(b)
		}
		err = interrupted(q.op, ctx, holder)
	} else {
		err = s.usable(q.op, q.Writes())
	}
	if admitted = err == nil; !admitted {
		return nil, err
	}
	return x, nil
}

// usable returns an error if the buffer is closed, or frozen and the action writes; s.mu is held.
func (s *storage) usable(op string, writes bool) error {
	switch {
	case s.closed:
		return s.closedError(op)
	case writes && s.frozen > 0:
		return hal.Errorf(op, ErrFrozen, "%d freezes", s.frozen)
	}
	return nil
}

// recordSites makes accesses that only read record their call site, too.
var recordSites = debug.Has("sites")

// manyFree is the largest number of free accesses that is kept when none is in use.
const manyFree = 64

// newAccess returns an access for a request, which has not entered the queue. It records the call site for the ConflictErrors of other
// accesses: always if it writes, else only with recordSites.
func (s *storage) newAccess(op string, own *owner, p part) *access {
	a := &s.accesses
	x := a.spare
	if x != nil {
		a.spare = nil
	} else if n := len(a.free); n > 0 {
		x = a.free[n-1]
		a.free[n-1] = nil
		a.free = a.free[:n-1]
	} else {
		x = &access{storage: s}
		x.Of = x
	}
	a.taken++
	a.gen++
	x.gen, x.op, x.action, x.own, x.Part = a.gen, op, p.Mode, own, p
	if x.since != 0 { // left over from the access that x was before; a store costs more here than this test
		x.since = 0
	}
	if x.copied {
		x.copied = false
	}
	if p.Writes() || recordSites {
		x.goroutine = callsite.Here(&x.site)
	} else if x.site[0] != 0 {
		x.site[0] = 0
	}
	return x
}

// pause waits until x is opened, or, if it has not entered the queue, until other has ended. The storage is unlocked meanwhile.
func (s *storage) pause(ctx context.Context, x *access, other *access) error {
	defer trace.StartRegion(ctx, "halyard: wait").End()
	begin := now()
	var late <-chan time.Time
	if listener() != nil {
		t := time.NewTimer(patience)
		defer t.Stop()
		late = t.C
	}
	err := s.queue.Wait(ctx, &x.Entry, &other.Entry, s.unlocked, late, func() { s.tellOfItself(x) })
	s.waited(x.cause, "access", nil, x.Lo, x.Hi, begin)
	return err
}

// prepare makes the bytes of an open access current at its replica, for a lease in stream order, otherwise before it returns. It commits
// the writes unless q.reserve is set. If it has to wait, the storage is unlocked, so anything may change, and bring is repeated; but the
// access is open, so none that conflicts with it begins meanwhile. After an error the access has ended.
func (s *storage) prepare(ctx context.Context, x *access, q *request) error {
	ready := false
	defer func() {
		if !ready || s.thrown != nil { // thrown: the call that would return the access is going to panic
			x.since = 0 // no use is reported to observers
			s.end(x)
		}
	}()
	room := roomFor{op: q.op, try: q.try}
	// SyncTo reports a wait even if there was nothing to wait for: its end is when the bytes were there
	waited := q.stream == nil || !q.awaitReaders
	for !ready {
		left, again, err := s.bring(x)
		switch e := err.(type) {
		case *resident.Pressure:
			err, again = s.makeRoom(ctx, q, e, &room), true
			x.ahead = true // if it goes on, it is the first in line or does not wait
		case *unready:
			left, err = e.works, nil
		}
		if err == nil && len(left) > 0 {
			err, again, waited = s.awaitFor(ctx, x, left, q.try), true, true
		}
		if err != nil {
			return err
		}
		ready = !again
	}
	if !waited {
		trace.StartRegion(ctx, "halyard: wait").End()
		s.waited(x.cause, "work", x.stream.Device(), x.Lo, x.Hi, now())
	}
	if !q.reserve && x.Writes() && s.thrown == nil { // an access that is not returned writes nothing
		s.commit(x)
	}
	if !x.awaited && (x.place != protocol.Host || !s.host.Owed(x.mem)) { // fast.go does not call hostmem.Memory.UsedOn
		s.recent = recent{x.replica, x.stream, x.mem}
	}
	if observing.Load() {
		x.since = time.Since(began)
	}
	if s.guarded {
		s.tighten()
	}
	return nil
}

// bring takes the steps from place to makeReady once, without waiting. If the host has to wait for some work first, left is that work, with
// a reference to each. If left is not empty, or again is true, the steps have to be taken again. The error is a resident.Pressure if there
// is no room, and an unready if the replica cannot be used yet.
func (s *storage) bring(x *access) (left []*order.Work, again bool, err error) {
	if err = s.place(x); err != nil {
		return nil, false, err
	}
	plan, zeros, err := s.decide(x)
	if err == nil && len(plan) > 0 {
		x.copied = x.copied || slices.ContainsFunc(plan, func(t protocol.Transfer) bool { return t.From != protocol.NoPlace })
		left, again, err = s.move(plan, x.stream, x.mem, x.cause)
	}
	if err == nil && len(left) == 0 && !again {
		left, err = s.orderWork(x, len(zeros) > 0)
	}
	if err != nil || len(left) > 0 || again {
		return left, again, err
	}
	if x.awaited {
		if err := s.makeReady(x, zeros); err != nil {
			return nil, false, err
		}
	}
	x.ready = true
	return nil, false, nil
}

// place gives an access its replica, with memory, which is not evicted until the access ends. It makes the replica if there is none.
func (s *storage) place(x *access) error {
	switch {
	case x.stream == nil && s.host.Bytes != nil:
		return nil
	case x.stream == nil:
		return s.hostReady(x.cause)
	case x.replica != nil && (x.place == protocol.Host || x.replica.Mem != nil):
		return nil
	}
	dev := layer.Common(x.stream.Device()) // a replica belongs to the device, whatever its handle
	r, mem, err := s.replicaOf(dev), (*hal.Memory)(nil), error(nil)
	if r == nil && layer.SharesHostMemory(dev) {
		if mem, err = s.shareHost(dev, x.cause); mem != nil {
			r, err = &s.host.replica, s.host.UsedOn(x.stream, mem)
		}
	}
	if r == nil && err == nil {
		r, err = s.addReplica(dev)
	}
	if err == nil && mem == nil {
		switch {
		case !x.ahead && r.Behind():
			err = &resident.Pressure{Dev: dev, Need: s.size, Behind: true}
		case r.Mem == nil:
			err = r.allocate(x.stream, x.cause)
		case r.Leaving():
			r.stay()
		}
		mem = r.Mem
	}
	if err != nil {
		return err
	}
	x.replica, x.place, x.mem = r, r.place, mem
	r.AddLease()
	return nil
}

// decide plans the copies to the access's replica. First it looks for work that has failed, so that no copy is made of bytes that are
// known to be bad. It returns an error if the access would read bytes that are lost, or if the access is the first to find a failure
// whose bytes have to be copied again. For an access of the host, ranges to zero are not in the plan, because the host clears them itself,
// in makeReady.
func (s *storage) decide(x *access) (plan, zeros []protocol.Transfer, err error) {
	r := x.replica
	plan = s.scratch.plan[:0]
	x.Each(func(p part) {
		if err != nil || !p.Reads() {
			return
		}
		if s.watcher != nil {
			if err = s.watcher.Reads(p.Lo, p.Hi); err != nil {
				return
			}
		}
		failed := s.learn(x, r, p.Lo, p.Hi)
		current := s.m.ValidIn(p.Lo, p.Hi, r.place)
		if !current { // also if something has failed: one error reports all failures in the range
			if other := s.learn(x, nil, p.Lo, p.Hi); failed == nil {
				failed = other
			}
		}
		if err = s.failedError(x, x.op, p.Lo, p.Hi, failed); err != nil {
			return
		}
		if !current {
			plan, err = s.m.Plan(p.Mode, r.place, p.Lo, p.Hi, s.cost, plan)
		} else if !x.counted {
			s.stats.BytesAvoided += p.Hi - p.Lo
			if observing.Load() {
				s.noteAvoided(x.cause, x.device(), p.Lo, p.Hi)
			}
		}
	})
	x.counted = true
	s.scratch.plan = plan[:0]
	if x.stream != nil || err != nil {
		return plan, nil, err
	}
	zeros = s.scratch.zeros[:0]
	plan = slices.DeleteFunc(plan, func(t protocol.Transfer) bool {
		if t.From == protocol.NoPlace {
			zeros = append(zeros, t)
		}
		return t.From == protocol.NoPlace
	})
	s.scratch.zeros = zeros[:0]
	return plan, zeros, nil
}

// orderWork makes the access's stream wait for the earlier work on the bytes. If the host has to wait instead, because the stream cannot or
// because the bytes have to be there when begin returns, left is that work. zeros says that the host is going to clear bytes.
func (s *storage) orderWork(x *access, zeros bool) (left []*order.Work, err error) {
	stream := x.stream
	if x.awaited {
		stream = nil
	}
	waits := s.scratch.waits[:0]
	x.Each(func(p part) {
		waits = x.replica.order.Waits(stream, p.Lo, p.Hi, p.Writes() || x.awaitReaders || zeros, waits)
	})
	s.scratch.waits = waits[:0]
	if len(waits) > 0 {
		left, err = order.MakeWait(waits, s.scratch.left)
	}
	return left, err
}

// makeReady is the last step for an access whose bytes have to be there when begin returns. All work on the bytes has ended, and some may
// have failed since decide, so makeReady looks for failures again. Then it clears the bytes that were never written; nothing else uses
// them.
func (s *storage) makeReady(x *access, zeros []protocol.Transfer) error {
	var failed error
	x.Each(func(p part) {
		if failed == nil && p.Reads() {
			failed = s.learn(x, x.replica, p.Lo, p.Hi)
		}
	})
	if failed != nil {
		_ = s.learn(x, nil, x.Lo, x.Hi) // one error reports all failures in the range
		return s.failedError(x, x.op, x.Lo, x.Hi, failed)
	}
	if x.stream != nil {
		return nil
	}
	if s.guarded {
		if err := s.host.Permit(x.Writes() || len(zeros) > 0); err != nil {
			return err
		}
	}
	for _, t := range zeros {
		begin := now()
		if !s.host.Clean {
			clear(s.host.Bytes[t.Lo:t.Hi])
		}
		_ = s.m.Apply(t)
		s.countTransfer(t, nil, x.cause, begin, nil)
	}
	return nil
}

// commit applies the writes of an access to the state, as one write.
func (s *storage) commit(x *access) {
	if !x.Writes() {
		return
	}
	s.version++
	x.Each(func(p part) {
		if !p.Writes() {
			return
		}
		s.wrote(p.Mode, x.place, p.Lo, p.Hi)
		if x.awaited { // the access adds no Work that would replace the earlier ones
			x.replica.order.Forget(p.Lo, p.Hi, true, true)
		}
	})
}

// wrote applies a write to the state: every other replica of the bytes is stale.
func (s *storage) wrote(a protocol.Action, p protocol.Place, lo, hi uint64) {
	if lo == hi {
		return
	}
	_ = s.m.Commit(a, p, lo, hi)
	switch {
	case a == protocol.Reset:
	case p == protocol.Host:
		s.host.Clean = false
	default:
		s.at[p].SetSole(true)
	}
	if s.lost.Len() > 0 {
		s.notLost(lo, hi)
	}
	if s.watcher != nil {
		s.watcher.Writes(lo, hi)
	}
}

// awaitFor waits until work has ended, or fails if try is set. It releases the references to the work.
func (s *storage) awaitFor(ctx context.Context, x *access, list []*order.Work, try bool) error {
	if try {
		for _, w := range list {
			w.Release()
		}
		return hal.Errorf(x.op, hal.ErrNotReady, "earlier work on the bytes has to end first, and %s cannot be made to wait for it",
			x.stream.Device().Name())
	}
	var dev *hal.Device
	if x.awaitReaders {
		dev = x.device()
	}
	return s.await(ctx, x.cause, dev, x.Lo, x.Hi, list)
}

// await blocks the calling goroutine until the work has ended, with the storage unlocked, and releases the references. dev is the device
// that needs the work to end, nil for the host. It returns an error only if ctx ends.
func (s *storage) await(ctx context.Context, c cause, dev *hal.Device, lo, hi uint64, list []*order.Work) (err error) {
	defer trace.StartRegion(ctx, "halyard: wait").End()
	begin := now()
	s.scratch.left = nil // the list is in use while the lock is released
	s.unlocked(func() {
		for i, w := range list {
			if err == nil {
				err = w.Wait(ctx)
			}
			w.Release()
			list[i] = nil
		}
	})
	if cap(list) <= 64 {
		s.scratch.left = list[:0]
	}
	s.waited(c, "work", dev, lo, hi, begin)
	if err != nil {
		return interrupted(c.op, ctx, nil)
	}
	return nil
}

// recordWork adds a Work for the program's work to the replica's Order. check is as for [order.Checked].
func (s *storage) recordWork(x *access, check func() error) {
	if check == nil && s.renew(x) {
		return
	}
	w := order.Checked(x.stream, check)
	if x.Writes() {
		s.sources(x, w)
	}
	s.recordAs(x, w)
	w.Release()
}

// sources sets the sources of w: the Works that wrote the bytes which the access reads.
func (s *storage) sources(x *access, w *order.Work) {
	ranges := s.scratch.ranges[:0]
	x.Each(func(p part) {
		if p.Reads() {
			ranges = append(ranges, span.Range{Lo: p.Lo, Hi: p.Hi})
		}
	})
	s.scratch.ranges = ranges[:0]
	x.replica.order.SetSources(w, ranges...)
}

// recordAs adds w to the replica's Order as the work of the access.
func (s *storage) recordAs(x *access, w *order.Work) {
	for _, writes := range [...]bool{false, true} {
		ranges := s.scratch.ranges[:0]
		x.Each(func(p part) {
			if p.Writes() == writes {
				ranges = append(ranges, span.Range{Lo: p.Lo, Hi: p.Hi})
			}
		})
		s.scratch.ranges = ranges[:0]
		if len(ranges) > 0 {
			x.replica.order.Add(w, writes, true, ranges...)
		}
	}
}

// leave ends an access of the host. It is not called within a callback, where the access could not have begun.
func (s *storage) leave(x *access) {
	s.mu.Mutex.Lock()
	s.end(x)
	if s.thrown != nil {
		raise(s.unlockFirst())
	}
	s.mu.Unlock()
}

// abandon ends an access for which no work was enqueued.
func (s *storage) abandon(x *access) {
	s.mu.Lock()
	defer s.unlock()
	x.since = 0 // no use is reported to observers
	s.end(x)
}

// end ends an access, open or not, and opens the accesses that waited only for it. Its work has been recorded, if it has any.
func (s *storage) end(x *access) {
	if x.since != 0 {
		s.noteUse(x)
	}
	if x.replica != nil {
		if x.givesUp != nil {
			x.replica.EndLeaseOf(x.givesUp)
			x.givesUp = nil
		} else {
			x.replica.EndLease()
		}
	}
	x.ready, x.own = false, nil
	if x.grouped { // a store costs more here than a test
		x.grouped = false
	}
	if x.stream != nil {
		x.stream, x.mem = nil, nil
	}
	if x.awaited {
		x.awaited = false
	}
	if x.Parts != nil {
		x.Parts = nil
	}
	if x.bad != nil {
		x.bad = nil
	}
	if !s.queue.EndAlone(&x.Entry) {
		s.queue.End(&x.Entry)
	}
	a := &s.accesses
	if a.spare == nil {
		a.spare = x
	} else {
		a.free = append(a.free, x)
	}
	if a.taken--; a.taken == 0 && len(a.free) > manyFree {
		a.free = nil // many accesses were open at once: free their memory
	}
	if s.guarded {
		s.tighten()
	}
}
