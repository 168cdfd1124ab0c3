package buffer

import (
	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/internal/protocol"
	"github.com/go-halyard/halyard/internal/span"
)

// This file has every shortcut of single accesses. Those of groups, beginAtOnce and renew, are in group.go, and those for Works in
// fast.go of internal/order. Most accesses repeat an earlier one: no other access uses the buffer, the bytes are current at the access's
// place, and only work of the same stream is under way. Such an access has nothing to admit, copy or wait for, so it begins without the
// steps of path.go. Each shortcut names the rule that it shortens.

// shortcuts is false in tests that compare each access with one that takes the whole path.
var shortcuts = true

// canBeginAtOnce reports whether an access can begin at once: admit would find no other access, freeze or closed buffer, place would find
// the memory of the last access or the host's, decide nothing to copy, and orderWork nothing to wait for. A group passes the same asked
// for all of its storages.
func (s *storage) canBeginAtOnce(q *request, asked *order.Asked) bool {
	reads, writes := q.Reads(), q.Writes()
	if !shortcuts || s.accesses.taken > 0 || s.closed || writes && s.frozen > 0 || s.lost.Len() > 0 || s.watcher != nil ||
		observing.Load() ||
		q.parts != nil && q.stream == nil || q.awaited || q.awaitReaders {
		return false
	}
	r := s.recent.replica
	if q.stream == nil {
		r = &s.host.replica
		if s.host.Bytes == nil || s.guarded || !r.order.Idle() && (writes || !r.order.Settled()) {
			return false
		}
	} else if r == nil || s.recent.stream != q.stream {
		return false
	}
	if q.parts != nil {
		if !s.current(q, r.place) {
			return false
		}
	} else if reads && !s.m.ValidIn(q.Lo, q.Hi, r.place) {
		return false
	}
	return q.stream == nil || r.order.Quiet(q.stream, reads, writes, asked)
}

// current reports whether all bytes that an access of several parts reads are current at the place.
func (s *storage) current(q *request, place protocol.Place) bool {
	for _, p := range q.parts {
		if p.Reads() && !s.m.ValidIn(p.Lo, p.Hi, place) {
			return false
		}
	}
	return true
}

// beginAgain shortens admit and prepare for an access for which canBeginAtOnce returned true.
func (s *storage) beginAgain(q *request) *access {
	x := s.newAccess(q.op, q.own, q.part)
	r := &s.host.replica
	if q.stream == nil {
		x.awaited = true
	} else {
		r, x.stream, x.mem = s.recent.replica, q.stream, s.recent.mem
	}
	x.replica, x.place, x.ready = r, r.place, true
	x.brief = q.brief
	if x.division != q.division {
		x.division = q.division
	}
	r.AddLease()
	s.queue.Alone(&x.Entry)
	if q.parts != nil {
		x.Parts = q.parts
		for _, p := range q.parts {
			if p.Reads() {
				s.stats.BytesAvoided += p.Hi - p.Lo
			}
		}
	} else if q.Reads() {
		s.stats.BytesAvoided += q.Hi - q.Lo
	}
	if !q.Writes() || q.reserve {
		return x
	}
	if q.parts != nil {
		s.commit(x)
		return x
	}
	s.version++
	if !s.m.Sole(q.Lo, q.Hi, r.place) {
		s.wrote(q.Mode, r.place, q.Lo, q.Hi)
	} else if r.place == protocol.Host {
		s.host.Clean = false
	}
	return x
}

// renew shortens recordWork: it extends the Work of an earlier access to the work of this one, and reports whether it did.
func (s *storage) renew(x *access) bool {
	return shortcuts && x.Parts == nil && x.replica.order.Renew(x.stream, x.Lo, x.Hi, x.Writes(), x.Reads())
}

// renewal adds the work of an access to that of its group.
func (s *storage) renewal(x *access, r *order.Renewal) bool {
	if x.Parts == nil {
		return r.Add(&x.replica.order, x.stream, x.Writes(), x.Reads(), span.Range{Lo: x.Lo, Hi: x.Hi})
	}
	for _, writes := range [...]bool{false, true} {
		ranges, reads := s.scratch.ranges[:0], !writes
		for _, p := range x.Parts {
			if p.Writes() == writes {
				ranges, reads = append(ranges, span.Range{Lo: p.Lo, Hi: p.Hi}), reads || p.Reads()
			}
		}
		s.scratch.ranges = ranges[:0]
		if len(ranges) > 0 && !r.Add(&x.replica.order, x.stream, writes, reads, ranges...) {
			return false
		}
	}
	return true
}
