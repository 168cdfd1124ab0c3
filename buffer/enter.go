package buffer

import (
	"context"

	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/coherence"
)

// enter begins an access of the host, and returns when its bytes are there.
func (s *storage) enter(ctx context.Context, q *request) (*access, error) {
	if err := validMode(q.op, q.mode); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() == nil {
		if x := s.quickOnHost(q); x != nil {
			return x, nil
		}
	}
	x, err := s.reserve(ctx, q)
	if err != nil {
		return nil, err
	}
	s.commit(x)
	return x, nil
}

// reserve is enter, with s.mu held, but for what a write makes stale.
func (s *storage) reserve(ctx context.Context, q *request) (*access, error) {
	x, err := s.admit(ctx, q)
	if err != nil {
		return nil, err
	}
	x.replica.begin()
	if err = s.fetch(ctx, x); err != nil {
		s.end(x)
		return nil, err
	}
	x.begun()
	if g := s.host.guard; g != nil {
		g.settle()
	}
	return x, nil
}

// fetch makes the host's replica good for an access: bytes there, work done. It is open, so that nobody interferes while the lock is
// given up to wait. The steps are those of bring; in place of a stream it is the caller who waits.
func (s *storage) fetch(ctx context.Context, x *access) error {
	for {
		if err := s.hostPresent(x.cause()); err != nil {
			return err
		}
		plan, err := s.decide(x)
		if err != nil {
			return err
		}
		copies := plan[:0]
		zeros := false
		for _, t := range plan {
			if t.From == coherence.NoPlace {
				zeros = true
			} else {
				copies = append(copies, t)
			}
		}
		copies, all := s.oneTurn(copies)
		busy, err := s.handOver(x, copies, nil, nil)
		var left []*order.Work
		if busy == nil && err == nil && len(copies) > 0 {
			if left, err = s.lineCopies(copies, nil); err == nil && len(left) == 0 {
				err = s.copy(copies, nil, nil, x.cause())
			}
		}
		if !all && busy == nil && err == nil && len(left) == 0 {
			continue
		}
		if busy == nil && err == nil {
			busy, err = s.mapForHost(x, x.writes || zeros)
		}
		if busy == nil && err == nil && len(left) == 0 {
			left = s.pendingFor(x, zeros)
		}
		switch {
		case err != nil:
			return err
		case busy != nil:
			err = s.standBehind(ctx, x, busy)
		case len(left) > 0:
			err = s.await(ctx, x.cause(), nil, x.lo, x.hi, left)
		case len(copies) == 0:
			if err := s.handedOver(x.op); err != nil {
				return err
			}
			if zeros {
				s.clear(x)
			}
			x.inside = true
			return nil
		}
		if err != nil {
			return err
		}
		if s.closed {
			return s.closedError(x.op)
		}
		// A copy may have failed, and somebody else have found it: look again.
	}
}

// pendingFor returns the work on the host's replica that an access has to wait for, with a reference each.
func (s *storage) pendingFor(x *access, zeros bool) (list []*order.Work) {
	o := &s.host.order
	if o.Idle() {
		return nil
	}
	list = o.Begin(s.scratch.left[:0])
	s.scratch.left = nil // others may need it while the lock is given up; await puts it back
	for _, w := range list {
		w.Retain()
	}
	x.each(func(p part) { list = o.Pending(p.lo, p.hi, p.writes() || zeros, list) })
	return list
}

// clear zeroes what was never written of an access; nothing else uses the bytes.
func (s *storage) clear(x *access) {
	x.each(func(p part) {
		if !p.reads() {
			return
		}
		plan, err := s.m.Plan(coherence.Read, coherence.Host, p.lo, p.hi, s.cost, s.scratch.plan[:0])
		if err != nil {
			return
		}
		s.scratch.plan = plan[:0]
		for _, t := range plan {
			if t.From != coherence.NoPlace {
				continue
			}
			begin := now()
			if !s.host.clean {
				clear(s.host.slice(t.Lo, t.Hi))
			}
			s.account(t, nil, x.cause(), begin)
			_ = s.m.Apply(t)
		}
	})
}

// leave ends an access of the host.
func (s *storage) leave(x *access) {
	s.mu.Lock()
	s.used(x)
	s.end(x)
	s.mu.Unlock()
}
