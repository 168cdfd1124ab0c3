package buffer

import (
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/internal/callsite"
)

// Most accesses are like one before: nobody else is at the buffer, the bytes are where they are wanted, and nothing is under way but the
// work of the same stream. These have a short way, which decides nothing and waits for nothing. What it does not understand it
// leaves to admit, bring and fetch.

// quick begins an access of a device, or returns nil.
func (s *storage) quick(q *request) *access {
	if !s.plain(q) {
		return nil
	}
	x := s.accesses.take()
	x.stream, x.mem = q.stream, s.recent.mem
	s.recent.touch()
	s.open(x, q, s.recent)
	return x
}

// plain reports whether an access of a device can begin at once.
func (s *storage) plain(q *request) bool {
	r := s.recent
	return r != nil && q.parts == nil && s.recentOn == q.stream && r.mem != nil && !r.leaving && s.calm(&q.part) && r.order.Quiet(q.stream) &&
		(!q.reads() || s.m.ValidIn(q.lo, q.hi, r.place))
}

// quickOnHost is quick for the host.
func (s *storage) quickOnHost(q *request) *access {
	h := &s.host
	if h.ptr == nil || h.mapper != nil || h.guard != nil || q.parts != nil || !h.order.Idle() || !s.calm(&q.part) {
		return nil
	}
	if q.reads() && !s.m.ValidIn(q.lo, q.hi, coherence.Host) {
		return nil
	}
	x := s.accesses.take()
	x.stream, x.mem = nil, nil
	s.open(x, q, &h.replica)
	return x
}

// calm reports whether nothing stands in the way of an access but, perhaps, work under way and where the bytes are.
func (s *storage) calm(p *part) bool {
	return s.accesses.empty() && !s.closed && (s.frozen == 0 || !p.writes()) && s.lost.tree.Len() == 0 && !observed()
}

// open begins an access that has what it needs.
func (s *storage) open(x *access, q *request, r *replica) {
	x.op, x.own, x.part, x.writes, x.replica, x.place, x.inside = q.op, q.own, q.part, q.part.writes(), r, r.place, true
	if x.writes || recordSites {
		callsite.Here(&x.site)
	}
	r.begin()
	s.accesses.begin(x)
	if q.reads() {
		s.stats.BytesAvoided += q.hi - q.lo
	}
	if !x.writes {
		return
	}
	s.version++
	if !s.m.Sole(q.lo, q.hi, r.place) {
		s.wrote(q.mode, r.place, q.lo, q.hi)
	} else if r.place == coherence.Host {
		s.host.clean = false
	}
}

// remember makes an access of a device the one that the next may be like.
func (s *storage) remember(x *access) {
	if x.place != coherence.Host {
		s.recent, s.recentOn = x.replica, x.stream
	}
}
