package buffer

import (
	"context"

	"github.com/go-halyard/halyard/buffer/internal/order"
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
	mem     *hal.Memory // the host's replica as memory of the stream's device, if that shares it; else nil
}

// acquire begins an access of a device, or returns nil if it cannot begin at once. reserve is as for again.
func (q *recent) acquire(op string, own *owner, stream *hal.Stream, p part, reserve bool) *access {
	if stream == nil || layer.Err(stream) != nil || !p.valid() {
		return nil
	}
	s := q.owner
	var x *access
	var asked order.Asked
	s.mu.Lock()
	if q.repeats(stream, &p, &asked) {
		x = q.again(op, own, p, reserve)
	}
	s.mu.Unlock()
	return x
}

// again begins an access of a device for which repeats returned true. With reserve it leaves noting the write to access.commit.
func (q *recent) again(op string, own *owner, p part, reserve bool) *access {
	x := q.owner.accesses.take()
	x.stream, x.mem = q.stream, q.memory()
	q.replica.touch()
	x.beginAtOnce(op, own, p, q.replica, reserve)
	return x
}

// repeats reports whether an access of a device can begin at once.
func (q *recent) repeats(stream *hal.Stream, p *part, asked *order.Asked) bool {
	s, r := q.owner, q.replica
	return r != nil && q.stream == stream && q.memory() != nil && !r.leaving && s.calm(p) && !observed() && r.order.Quiet(stream, p.reads(), p.writes(), asked) &&
		(!p.reads() || s.m.ValidIn(p.lo, p.hi, r.place))
}

// memory is the memory that the last access used, nil if the replica has lost it.
func (q *recent) memory() *hal.Memory {
	if q.replica.place == protocol.Host {
		return q.mem
	}
	return q.replica.mem
}

// enter begins an access of the host, or returns nil if it cannot begin at once.
func (q *recent) enter(op string, own *owner, p part) *access {
	if !p.valid() {
		return nil
	}
	s := q.owner
	s.mu.Lock()
	h := &s.host
	if h.ptr == nil || h.guard != nil || !h.order.Idle() && (p.writes() || !h.order.Settled()) || !s.calm(&p) || observed() ||
		p.reads() && !s.m.ValidIn(p.lo, p.hi, protocol.Host) {
		s.mu.Unlock()
		return nil
	}
	x := s.accesses.take()
	x.beginAtOnce(op, own, p, &h.replica, false)
	s.mu.Unlock()
	return x
}

// remember stores an access of a device, with which the next one is compared. It does not store an access of the host's replica where the memory that holds the bytes has to be told of each use (hostReplica.usedOn).
func (q *recent) remember(x *access) {
	h := &q.owner.host
	if x.present() {
		return
	}
	if x.place == protocol.Host && h.home != nil && h.home != x.mem {
		return
	}
	q.replica, q.stream, q.mem = x.replica, x.stream, x.mem
}

// forget is called when the host's replica loses its memory.
func (q *recent) forget() { q.mem = nil }

// calm reports whether no other access, freeze or loss prevents an access. It does not check for work under way, and not whether the bytes
// are current.
func (s *storage) calm(p *part) bool {
	return s.accesses.empty() && !s.closed && (s.frozen == 0 || !p.writes()) && s.lost.tree.Len() == 0 && s.watcher == nil
}

// beginAtOnce begins an access whose bytes are ready.
func (x *access) beginAtOnce(op string, own *owner, p part, r *replica, reserve bool) {
	s := x.storage
	x.op, x.own, x.part, x.writes, x.replica, x.place, x.inside = op, own, p, p.writes(), r, r.place, true
	if x.since != 0 { // of the last use of the slot; a store costs more here than this test
		x.since = 0
	}
	x.here()
	r.begin()
	s.accesses.alone(x)
	if p.reads() {
		s.stats.BytesAvoided += p.hi - p.lo
	}
	if !x.writes || reserve {
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

// acquirePart is acquire for one range.
func (s *storage) acquirePart(ctx context.Context, op string, own *owner, stream *hal.Stream, p part) (*access, error) {
	if ctx.Err() == nil {
		if x := s.recent.acquire(op, own, stream, p, false); x != nil {
			return x, nil
		}
	}
	if stream == nil {
		return nil, noStream(op)
	}
	return s.begin(ctx, &request{op: op, own: own, stream: stream, part: p})
}

// tryAcquirePart is acquirePart that fails at once instead of waiting. With reserve it leaves access.commit to the caller.
func (s *storage) tryAcquirePart(op string, own *owner, stream *hal.Stream, p part, reserve bool) (*access, error) {
	if x := s.recent.acquire(op, own, stream, p, reserve); x != nil {
		return x, nil
	}
	if stream == nil {
		return nil, noStream(op)
	}
	return s.begin(context.Background(), &request{op: op, own: own, stream: stream, part: p, try: true, reserve: reserve})
}

// enterPart begins an access of the host to one range.
func (s *storage) enterPart(ctx context.Context, op string, own *owner, p part) (*access, error) {
	if ctx.Err() == nil {
		if x := s.recent.enter(op, own, p); x != nil {
			return x, nil
		}
	}
	return s.begin(ctx, &request{op: op, own: own, part: p})
}

// renew extends the Work of an earlier access to the work of this one, instead of adding another. It reports whether it did.
func (x *access) renew() bool {
	return x.parts == nil && x.replica.order.Renew(x.stream, x.lo, x.hi, x.writes, x.reads())
}
