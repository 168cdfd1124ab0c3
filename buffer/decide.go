package buffer

import (
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/protocol"
)

// decide is the first step of an access: it plans what has to be copied to its replica. First it looks for work that has failed, so
// that no copy is made of bytes that are known to be bad. It returns an error if the access would read bytes that are lost, or if it is
// the first to learn of a failure whose bytes have to be copied again.
func (x *access) decide() (plan []protocol.Transfer, err error) {
	s := x.storage
	plan = s.scratch.plan[:0]
	x.each(func(p part) {
		if err == nil && p.reads() {
			plan, err = x.decidePart(p, plan)
		}
	})
	s.scratch.plan = plan[:0]
	x.counted = true
	return plan, err
}

func (x *access) decidePart(p part, plan []protocol.Transfer) ([]protocol.Transfer, error) {
	s := x.storage
	r := x.replica
	if s.watcher != nil {
		if err := s.watcher.Reads(p.lo, p.hi); err != nil {
			return plan, err
		}
	}
	if err := r.learn(x.op, x, p.lo, p.hi, true); err != nil {
		_ = s.lost.learn(x.op, x, p.lo, p.hi) // one error tells of all failures in the range
		return plan, err
	}
	valid := s.m.ValidIn(p.lo, p.hi, r.place)
	if !valid {
		if err := s.lost.learn(x.op, x, p.lo, p.hi); err != nil {
			return plan, err
		}
	}
	if err := s.lost.in(x.op, p.lo, p.hi); err != nil {
		return plan, err
	}
	if !valid {
		return s.m.Plan(p.mode, r.place, p.lo, p.hi, s.cost, plan)
	}
	if !x.counted {
		s.stats.BytesAvoided += p.hi - p.lo
		if observed() {
			s.noteAvoided(x.cause(), x.device(), p.lo, p.hi)
		}
	}
	return plan, nil
}

// cost ranks the sources of a copy to a device, the best first: a device whose memory the destination can access (1), the host (2),
// another device whose copies no call waits for (3), the host if work on its replica has to end first (4), any other device (5).
// For a copy to the host all devices are equal.
func (s *storage) cost(from, to protocol.Place) int {
	dst := s.replica(to).dev
	switch {
	case dst == nil:
		return 1
	case s.replica(from).dev != nil:
		if dst.CanAccessPeer(s.replica(from).dev) {
			return 1
		}
		if !dst.Caps().Has(hal.CapGate) || !s.replica(from).dev.Caps().Has(hal.CapGate) {
			return 5
		}
		return 3
	case from == protocol.Host && s.host.order.Len() > 0 && !s.host.lockedFor(dst):
		return 4
	}
	return 2
}
