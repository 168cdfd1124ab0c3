package buffer

import (
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/callsite"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/protocol"
)

// Most accesses repeat an earlier one: no other access uses the buffer, the bytes are current at the access's place, and only work of
// the same stream is under way. Such an access begins at once: it copies nothing and waits for nothing. All other accesses begin with admit
// and then bring or fetch.

// recent is the last access of a device. If the next access repeats it, recent begins that access at once.
type recent struct {
	owner   *storage
	replica *replica // the replica that a device used last, nil if no device has used one
	stream  *hal.Stream
}

// acquire begins an access of a device, or returns nil if it cannot begin at once.
func (q *recent) acquire(op string, own *owner, stream *hal.Stream, p part) *access {
	if stream == nil || layer.Err(stream) != nil || !p.valid() {
		return nil
	}
	s := q.owner
	var x *access
	s.mu.Lock()
	if q.repeats(stream, &p) {
		x = q.again(op, own, p)
	}
	s.mu.Unlock()
	return x
}

// again begins an access of a device for which repeats returned true.
func (q *recent) again(op string, own *owner, p part) *access {
	x := q.owner.accesses.take()
	x.stream, x.mem = q.stream, q.replica.mem
	q.replica.touch()
	x.beginAtOnce(op, own, p, q.replica)
	return x
}

// repeats reports whether an access of a device can begin at once.
func (q *recent) repeats(stream *hal.Stream, p *part) bool {
	s, r := q.owner, q.replica
	return r != nil && q.stream == stream && r.mem != nil && !r.leaving && s.calm(p) && !observed() && r.order.Quiet(stream) &&
		(!p.reads() || s.m.ValidIn(p.lo, p.hi, r.place))
}

// enter begins an access of the host, or returns nil if it cannot begin at once.
func (q *recent) enter(op string, own *owner, p part) *access {
	if !p.valid() {
		return nil
	}
	s := q.owner
	s.mu.Lock()
	h := &s.host
	if h.ptr == nil || s.turns.mapper != nil || h.guard != nil || !h.order.Idle() || !s.calm(&p) || observed() ||
		p.reads() && !s.m.ValidIn(p.lo, p.hi, protocol.Host) {
		s.mu.Unlock()
		return nil
	}
	x := s.accesses.take()
	x.beginAtOnce(op, own, p, &h.replica)
	s.mu.Unlock()
	return x
}

// remember stores an access of a device, with which the next one is compared.
func (q *recent) remember(x *access) {
	if x.place != protocol.Host {
		q.replica, q.stream = x.replica, x.stream
	}
}

// calm reports whether no other access, freeze or loss prevents an access. It does not check for work under way, and not whether the bytes
// are current.
func (s *storage) calm(p *part) bool {
	return s.accesses.empty() && !s.closed && (s.frozen == 0 || !p.writes()) && s.lost.tree.Len() == 0 && s.watcher == nil
}

// beginAtOnce begins an access whose bytes are ready.
func (x *access) beginAtOnce(op string, own *owner, p part, r *replica) {
	s := x.storage
	x.op, x.own, x.part, x.writes, x.replica, x.place, x.inside = op, own, p, p.writes(), r, r.place, true
	if x.side != neither || x.since != 0 { // values of the last use of the slot; a store costs more here than this test
		x.side, x.since = neither, 0
	}
	x.here()
	r.begin()
	s.accesses.alone(x)
	if p.reads() {
		s.stats.BytesAvoided += p.hi - p.lo
	}
	if !x.writes {
		return
	}
	s.version++
	if !s.m.Sole(p.lo, p.hi, r.place) {
		s.wrote(p.mode, r.place, p.lo, p.hi)
	} else if r.place == protocol.Host {
		s.host.clean = false
	}
}

// here records the call site of an access, for the ConflictErrors of other accesses: always if it writes, else only with recordSites.
func (x *access) here() {
	if x.writes || recordSites {
		callsite.Here(&x.site)
		if callsite.Marked() {
			callsite.Beyond(&x.site, packagePath)
		}
	} else if x.site[0] != 0 {
		x.site[0] = 0
	}
}
