package buffer

import (
	"context"

	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/internal/protocol"
)

// enterPart is enter for one range.
func (s *storage) enterPart(ctx context.Context, op string, own *owner, p part) (*access, error) {
	if ctx.Err() == nil {
		if x := s.recent.enter(op, own, p); x != nil {
			return x, nil
		}
	}
	return s.enter(ctx, &request{op: op, own: own, part: p})
}

// enter begins an access of the host, and returns when its bytes are ready.
func (s *storage) enter(ctx context.Context, q *request) (x *access, err error) {
	if err := validMode(q.op, q.mode); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.unlock()
	if x, err = s.admit(ctx, q); err != nil {
		return nil, err
	}
	x.replica.begin()
	ready := false
	defer x.endUnless(&ready)
	if err = x.fetch(ctx); err != nil {
		return nil, err
	}
	if s.thrown == nil { // an access that is not returned writes nothing
		x.commit()
	}
	x.begun()
	if g := s.host.guard; g != nil {
		g.settle()
	}
	ready = true
	return x, nil
}

// fetch makes the host's replica ready for an access: it copies stale bytes, and waits for work on the bytes. The access is open, so
// no conflicting access begins while the lock is released. The steps are those of bring, but the calling goroutine waits instead of a stream.
func (x *access) fetch(ctx context.Context) error {
	s := x.storage
	for {
		if err := s.host.ready(x.cause()); err != nil {
			return err
		}
		plan, err := x.decide()
		if err != nil {
			return err
		}
		copies, zeros := withoutZeros(plan)
		o, err := x.move(copies, nil, nil)
		if err == nil && o.none() {
			o.left = x.pending(zeros || x.op == "SyncTo") // after SyncTo the program may write here without a lease
			o.again = len(copies) > 0                     // a copy may have failed
		}
		if err == nil && o.none() {
			if err = s.host.permit(x.writes || zeros); err == nil {
				err = x.show(zeros)
			}
			return err
		}
		if err != nil {
			return err
		}
		if err := x.overcome(ctx, o, false); err != nil {
			return err
		}
	}
}

// withoutZeros returns the copies of a plan, and whether the plan also has ranges to zero. The host zeroes those itself.
func withoutZeros(plan []protocol.Transfer) (copies []protocol.Transfer, zeros bool) {
	copies = plan[:0]
	for _, t := range plan {
		if t.From == protocol.NoPlace {
			zeros = true
		} else {
			copies = append(copies, t)
		}
	}
	return copies, zeros
}

// show is the last step before an access of the host, or one that is awaited, uses its bytes. All work on them has ended, so show checks for failures again: some
// work may have failed since decide.
func (x *access) show(zeros bool) error {
	s := x.storage
	var failed error
	x.each(func(p part) {
		if failed == nil && p.reads() {
			failed = x.replica.learn(x, p.lo, p.hi, false)
		}
	})
	if failed != nil {
		_ = s.learn(x, x.lo, x.hi) // one error reports all failures in the range
		return s.failed(x.op, x.lo, x.hi, failed)
	}
	if zeros {
		x.clear()
	}
	x.inside = true
	return nil
}

// pending returns the work on the replica that the goroutine of an access has to wait for, with a reference to each.
func (x *access) pending(zeros bool) (list []*order.Work) {
	s := x.storage
	o := &x.replica.order
	if o.Idle() {
		return nil
	}
	list = o.Begin(s.scratch.left[:0])
	s.scratch.left = nil // other accesses may need it while the lock is released; await puts it back
	for _, w := range list {
		w.Retain()
	}
	x.each(func(p part) { list = o.Pending(p.lo, p.hi, p.writes() || zeros, list) })
	return list
}

// clear zeroes the bytes of an access that were never written. Nothing else uses them.
func (x *access) clear() {
	s := x.storage
	x.each(func(p part) {
		if !p.reads() {
			return
		}
		plan, err := s.m.Plan(protocol.Read, protocol.Host, p.lo, p.hi, s.places.cost, s.scratch.plan[:0])
		if err != nil {
			return
		}
		s.scratch.plan = plan[:0]
		for _, t := range plan {
			if t.From != protocol.NoPlace {
				continue
			}
			begin := now()
			if !s.host.clean {
				clear(s.host.slice(t.Lo, t.Hi))
			}
			_ = s.m.Apply(t)
			s.copier.account(t, nil, x.cause(), begin, nil)
		}
	})
}

// leave ends an access of the host.
func (s *storage) leave(x *access) {
	s.mu.Lock()
	x.used()
	s.end(x)
	s.unlock()
}
