package buffer

import "github.com/go-halyard/halyard/internal/protocol"

// decide is the first step of an access: it plans the copies to the access's replica. First it looks for work that has failed, so
// that no copy is made of bytes that are known to be bad. It returns an error if the access would read bytes that are lost, or if the access
// is the first to report a failure whose bytes have to be copied again.
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
	failed := r.learn(x, p.lo, p.hi, true)
	valid := s.m.ValidIn(p.lo, p.hi, r.place)
	if !valid { // also if something has failed: one error reports all failures in the range
		if other := s.learn(x, p.lo, p.hi); failed == nil {
			failed = other
		}
	}
	if err := s.failed(x.op, p.lo, p.hi, failed); err != nil {
		return plan, err
	}
	if !valid {
		return s.m.Plan(p.mode, r.place, p.lo, p.hi, s.places.cost, plan)
	}
	if !x.counted {
		s.stats.BytesAvoided += p.hi - p.lo
		if observed() {
			s.noteAvoided(x.cause(), x.device(), p.lo, p.hi)
		}
	}
	return plan, nil
}
