package buffer

import (
	"context"

	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/protocol"
)

// This file has every shortcut of this package; internal/order has those for Works, in its own fast.go. Most accesses repeat an earlier
// one: no other access uses the buffer, the bytes are current at the access's place, and only work of the same stream is under way. Such
// an access has nothing to admit, copy or wait for, so it begins without the steps of path.go. Each shortcut names the rule that it
// shortens.

// shortcuts is false in tests that compare each access with one that takes the whole path.
var shortcuts = true

// recent is the last access of a device. If the next access repeats it, that access begins at once.
type recent struct {
	replica *replica // nil if no device has used the buffer
	stream  *hal.Stream
	mem     *hal.Memory // as access.mem; nil if the host's replica has been freed
}

// acquirePart begins an access of a device to one range.
func (s *storage) acquirePart(ctx context.Context, op string, own *owner, stream *hal.Stream, p part) (*access, error) {
	if ctx.Err() == nil {
		if x := s.acquireAtOnce(op, own, stream, p, false); x != nil {
			return x, nil
		}
	}
	if stream == nil {
		return nil, noStream(op)
	}
	return s.begin(ctx, &request{op: op, own: own, stream: stream, part: p})
}

// tryAcquirePart is acquirePart that fails at once instead of waiting. With reserve it leaves storage.commit to the caller.
func (s *storage) tryAcquirePart(op string, own *owner, stream *hal.Stream, p part, reserve bool) (*access, error) {
	if x := s.acquireAtOnce(op, own, stream, p, reserve); x != nil {
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
		if x := s.enterAtOnce(op, own, p); x != nil {
			return x, nil
		}
	}
	return s.begin(ctx, &request{op: op, own: own, part: p})
}

// acquireAtOnce shortens begin for a device. It returns nil if the access cannot begin at once.
func (s *storage) acquireAtOnce(op string, own *owner, stream *hal.Stream, p part, reserve bool) (x *access) {
	if stream == nil || layer.Err(stream) != nil || !p.Valid() {
		return nil
	}
	var asked order.Asked
	s.mu.Lock()
	if s.repeats(stream, &p, &asked) {
		x = s.beginAgain(op, own, p, reserve)
	}
	s.mu.Unlock()
	return x
}

// repeats reports whether an access of a device can begin at once: admit would find no other access, place find the same memory, decide
// nothing to copy, and order nothing to wait for.
func (s *storage) repeats(stream *hal.Stream, p *part, asked *order.Asked) bool {
	r := s.recent.replica
	return r != nil && s.recent.stream == stream && s.recentMemory() != nil && !r.Leaving() && s.undisturbed(p) &&
		(!p.Reads() || s.m.ValidIn(p.Lo, p.Hi, r.place)) && r.order.Quiet(stream, p.Reads(), p.Writes(), asked)
}

// beginAgain begins an access of a device for which repeats returned true. With reserve it leaves storage.commit to the caller.
func (s *storage) beginAgain(op string, own *owner, p part, reserve bool) *access {
	x := s.newAccess()
	x.stream, x.mem = s.recent.stream, s.recentMemory()
	x.beginAtOnce(op, own, p, s.recent.replica, reserve)
	return x
}

// recentMemory is the memory that the last access used, nil if it has been freed.
func (s *storage) recentMemory() *hal.Memory {
	if s.recent.replica.place == protocol.Host {
		return s.recent.mem
	}
	return s.recent.replica.Mem
}

// remember stores an access of a device, with which the next one is compared. It stores no awaited access, and none for which each access
// has to call hostmem.Memory.UsedOn, because the shortcut does not call it.
func (s *storage) remember(x *access) {
	if x.present() || x.place == protocol.Host && s.host.Owed(x.mem) {
		return
	}
	s.recent = recent{x.replica, x.stream, x.mem}
}

// enterAtOnce shortens begin for the host. It returns nil if the access cannot begin at once.
func (s *storage) enterAtOnce(op string, own *owner, p part) (x *access) {
	if !p.Valid() {
		return nil
	}
	s.mu.Lock()
	h := &s.host
	if h.Exists() && !h.Guarded() && (h.order.Idle() || !p.Writes() && h.order.Settled()) && s.undisturbed(&p) &&
		(!p.Reads() || s.m.ValidIn(p.Lo, p.Hi, protocol.Host)) {
		x = s.newAccess()
		x.beginAtOnce(op, own, p, &h.replica, false)
	}
	s.mu.Unlock()
	return x
}

// undisturbed reports whether no other access, freeze, loss or observer prevents an access from beginning at once. It says nothing of
// work under way and of where the bytes are current.
func (s *storage) undisturbed(p *part) bool {
	return shortcuts && s.queue.Empty() && !s.closed && (s.frozen == 0 || !p.Writes()) && s.lost.tree.Len() == 0 &&
		s.watcher == nil && !observed()
}

// beginAtOnce shortens admit and prepare for an access whose bytes are ready.
func (x *access) beginAtOnce(op string, own *owner, p part, r *replica, reserve bool) {
	s := x.storage
	x.op, x.own, x.Part, x.writes, x.replica, x.place, x.ready = op, own, p, p.Writes(), r, r.place, true
	if x.since != 0 { // left over from the access that x was before; a store costs more here than this test
		x.since = 0
	}
	x.recordSite()
	r.AddLease()
	s.queue.Alone(&x.Entry)
	if p.Reads() {
		s.stats.BytesAvoided += p.Hi - p.Lo
	}
	if !x.writes || reserve {
		return
	}
	s.version++
	if !s.m.Sole(p.Lo, p.Hi, r.place) {
		s.wrote(p.Mode, r.place, p.Lo, p.Hi)
	} else if r.place == protocol.Host {
		s.host.Clean = false
	}
}

// renew shortens recordWork: it extends the Work of an earlier access to the work of this one, and reports whether it did.
func (s *storage) renew(x *access) bool {
	return shortcuts && x.Parts == nil && x.replica.order.Renew(x.stream, x.Lo, x.Hi, x.writes, x.Reads())
}

// beginAtOnce shortens acquireAll: it begins all accesses at once if that is possible for each of them, else none. It reports whether it
// did.
func (g *group) beginAtOnce() bool {
	if g.stream == nil {
		return false
	}
	var asked order.Asked
	g.lock()
	defer g.unlock()
	for i := range g.list {
		m := &g.list[i]
		if m.q.parts != nil || !m.s.repeats(m.q.stream, &m.q.part, &asked) {
			return false
		}
	}
	for i := range g.list {
		m := &g.list[i]
		m.x = m.s.beginAgain(m.q.op, m.q.own, m.q.part, g.reserved)
		m.x.group = g
	}
	return true
}

// renew shortens group.record: it extends the Work of an earlier group, on the same stream and the same bytes, to the work of this group,
// if nothing else refers to that Work. It reports whether it did.
func (g *group) renew() bool {
	if !shortcuts {
		return false
	}
	var renewal order.Renewal
	for i := range g.list {
		x := g.list[i].x
		if x.Parts != nil || !renewal.Add(&x.replica.order, x.stream, x.Lo, x.Hi, x.writes, x.Reads()) {
			return false
		}
	}
	return renewal.Do()
}
