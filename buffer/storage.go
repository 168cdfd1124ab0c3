package buffer

import (
	"context"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
	"github.com/go-halyard/halyard/internal/callsite"
)

// storage is what a buffer and all its slices share. It counts in bytes and knows no types.
type storage struct {
	id   uint64
	elem uint64 // bytes per element
	size uint64 // bytes

	alignment uint64 // of adopted memory in bytes, 0 for what is aligned to anything

	mu       sync.Mutex
	closed   bool
	frozen   int
	m        coherence.Map
	version  int64  // writes so far
	seq      uint64 // hazards so far
	host     hostReplica
	homeOn   *hal.Device // asked for by HostMemory
	guarded  bool        // the host's replica, unless homeOn
	devs     []*replica  // by place, from 1 on
	accesses accesses
	changed  chan struct{} // closed when an access ends, nil while nobody waits
	lost     []lost
	leaving  []*departure // evicted replicas whose memory is still needed
	stats    Stats

	allocators []allocatorOn // by Allocator

	self int // slot+1 of the host's access on whose behalf the replica is being mapped, 0 for none

	plan    []coherence.Transfer // scratch
	pending []hazard             // scratch
}

var created atomic.Uint64

func newStorage(elem, size uint64, opts []Option) *storage {
	s := &storage{id: created.Add(1), elem: elem, size: size, guarded: guardAll}
	s.m.Init(size)
	for _, o := range opts {
		o(s)
	}
	return s
}

func (s *storage) closedError(op string) error {
	return failure(op, hal.ErrClosed, "the buffer is closed")
}

// open reports why an action cannot begin at all; s.mu is held.
func (s *storage) open(op string, writes bool) error {
	if s.closed {
		return s.closedError(op)
	}
	if len(s.leaving) > 0 {
		_ = s.resolve("", 0, 0, true)
	}
	if writes && s.frozen > 0 {
		return failure(op, ErrFrozen, "%d freezes", s.frozen)
	}
	return nil
}

// enter begins an access of the host to the parts of [lo, hi) bytes, or to all of it, and returns when its bytes are there.
func (s *storage) enter(ctx context.Context, op string, action coherence.Action, lo, hi uint64, parts []extent) (slot uint32, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if parts == nil && s.ready(action, lo, hi) && ctx.Err() == nil {
		slot = s.enterReady(cause{op: op, action: action}, lo, hi)
	} else if slot, err = s.reserve(ctx, op, action, lo, hi, parts); err != nil {
		return 0, err
	}
	if action != coherence.Read {
		s.wroteParts(action, coherence.Host, lo, hi, parts)
	}
	return slot, nil
}

// ready reports whether an access of the host can begin with nothing to look for, copy or wait for, as most can.
func (s *storage) ready(action coherence.Action, lo, hi uint64) bool {
	h := &s.host
	return !s.closed && s.accesses.open == 0 && h.ptr != nil && h.mapper == nil && h.guard == nil && len(h.hazards.list) == 0 &&
		len(s.leaving) == 0 && len(s.lost) == 0 && (action == coherence.Read || s.frozen == 0) &&
		(action == coherence.Overwrite || s.m.ValidIn(lo, hi, coherence.Host))
}

// enterReady is reserve for an access that is ready.
func (s *storage) enterReady(c cause, lo, hi uint64) (slot uint32) {
	slot, _ = s.accesses.begin(lo, hi, c.action, coherence.Host, nil)
	x := &s.accesses.slots[slot]
	if c.action != coherence.Read || recordSites {
		callsite.Here(&x.site)
	}
	if c.action != coherence.Overwrite {
		s.stats.BytesAvoided += hi - lo
		if observed() {
			s.noteAvoided(c, nil, lo, hi)
		}
	}
	x.begun(c.op)
	return slot
}

// reserve is enter, with s.mu held, but for what a write makes old.
func (s *storage) reserve(ctx context.Context, op string, action coherence.Action, lo, hi uint64, parts []extent) (slot uint32, err error) {
	writes := action != coherence.Read
	if err := s.open(op, writes); err != nil {
		return 0, err
	}
	if err := ctx.Err(); err != nil {
		return 0, interrupted(op, ctx, nil)
	}
	c := cause{op: op, action: action}
	for {
		if s.accesses.open > 0 {
			if err := s.settle(ctx, op, action, nil, "host", lo, hi, parts); err != nil {
				return 0, err
			}
			if err := s.open(op, writes); err != nil {
				return 0, err
			}
		}
		if err := s.hold(c); err != nil {
			return 0, err
		}
		slot, _ = s.accesses.begin(lo, hi, action, coherence.Host, nil)
		s.accesses.slots[slot].parts = parts
		if writes || recordSites {
			callsite.Here(&s.accesses.slots[slot].site)
		}
		var err error
		if parts == nil {
			err = s.fetch(ctx, op, action, lo, hi, slot)
		} else {
			err = s.fetchParts(ctx, op, action, parts, slot)
		}
		if err == nil {
			break
		}
		s.ended(slot)
		excluded, ok := err.(*ConflictError)
		if !ok {
			return 0, err
		}
		// The replica must be mapped anew, and somebody is at it.
		if ctx.Err() != nil {
			return 0, interrupted(op, ctx, excluded)
		}
		if s.accesses.open > 0 {
			s.pause(ctx, c, lo, hi)
		}
		if err := s.open(op, writes); err != nil {
			return 0, err
		}
	}
	s.accesses.slots[slot].begun(op)
	if g := s.host.guard; g != nil {
		g.settle()
	}
	return slot, nil
}

// commit makes everything else old that the access of a slot, which was reserved, is to write. After an error nothing is.
func (s *storage) commit(ctx context.Context, op string, slot uint32) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.accesses.slots[slot]
	var err error
	// Evictions may have moved bytes since.
	if x.stream == nil {
		err = s.fetch(ctx, op, x.action, x.lo, x.hi, slot)
	} else {
		err = s.replica(x.place).hazards.order(x.stream, x.lo, x.hi, true)
	}
	if err != nil {
		return err
	}
	s.wroteParts(x.action, x.place, x.lo, x.hi, x.parts)
	return nil
}

// fetch makes the host's replica good for the action on [lo, hi): bytes there, work done. The access
// is open, so that nobody interferes while the lock is given up to wait.
func (s *storage) fetch(ctx context.Context, op string, action coherence.Action, lo, hi uint64, slot uint32) error {
	defer func() { s.self = 0 }()
	h := &s.host
	writes := action != coherence.Read
	first := true
	for {
		s.self = int(slot) + 1
		if action != coherence.Overwrite && len(s.lost) > 0 {
			if err := s.lostIn(op, lo, hi); err != nil {
				return err
			}
		}
		if err := s.mapForHost(writes); err != nil {
			return err
		}
		needed := false
		if action != coherence.Overwrite {
			if err := s.notice(op, &h.replica, lo, hi); err != nil {
				return err
			}
			if needed = !s.m.ValidIn(lo, hi, coherence.Host); needed {
				if err := s.resolve(op, lo, hi, false); err != nil {
					return err
				}
			}
		}
		if first && !needed && action != coherence.Overwrite {
			s.stats.BytesAvoided += hi - lo
			if observed() {
				s.noteAvoided(cause{op: op, action: action}, nil, lo, hi)
			}
		}
		first = false
		if !needed && len(h.hazards.list) == 0 {
			return nil
		}
		zeros := false
		if needed {
			var err error
			if zeros, err = s.fetchPlan(op, action, lo, hi); err != nil {
				return err
			}
		}
		if zeros {
			if err := s.mapForHost(true); err != nil {
				return err
			}
		}
		s.pending = h.hazards.pending(lo, hi, writes || zeros, s.pending[:0])
		if len(s.pending) == 0 {
			if zeros {
				s.clearHost(lo, hi, cause{op: op, action: action})
			}
			return nil
		}
		pending := s.pending
		s.pending = nil // another may need scratch while the lock is open
		s.self = 0
		s.mu.Unlock()
		err := s.await(ctx, cause{op: op, action: action}, lo, hi, pending)
		s.mu.Lock()
		clear(pending)
		s.pending = pending[:0]
		if err != nil {
			return interrupted(op, ctx, nil)
		}
		if err := s.resolve(op, lo, hi, true); err != nil {
			return err
		}
		// A copy may have failed, and somebody else have found it: look again.
	}
}

// fetchPlan enqueues the copies to the host that [lo, hi) needs, and reports whether parts were
// never written and remain to be cleared.
func (s *storage) fetchPlan(op string, action coherence.Action, lo, hi uint64) (zeros bool, err error) {
	plan, err := s.m.Plan(action, coherence.Host, lo, hi, s.cost, s.plan[:0])
	if err != nil {
		return false, err
	}
	s.plan = plan[:0]
	for _, t := range plan {
		if t.From == coherence.NoPlace && !s.host.clean {
			zeros = true
			continue
		}
		if err := s.move(t, nil, nil, cause{op: op, action: action}); err != nil {
			return false, err
		}
	}
	return zeros, nil
}

// clearHost zeroes what was never written in [lo, hi); nothing else uses the bytes.
func (s *storage) clearHost(lo, hi uint64, c cause) {
	plan, err := s.m.Plan(coherence.Read, coherence.Host, lo, hi, s.cost, s.plan[:0])
	if err != nil {
		return
	}
	s.plan = plan[:0]
	for _, t := range plan {
		if t.From == coherence.NoPlace {
			begin := now()
			clear(s.host.slice(t.Lo, t.Hi))
			s.account(t, nil, c, begin)
			s.m.Apply(t)
		}
	}
}

func kindOf(err error) error {
	if e, ok := err.(*hal.Error); ok {
		return e.Kind
	}
	return hal.ErrInternal
}

// leave ends an access of the host.
func (s *storage) leave(slot uint32) {
	s.mu.Lock()
	s.used(&s.accesses.slots[slot])
	s.ended(slot)
	s.mu.Unlock()
}

// wrote makes an access that writes part of the state.
func (s *storage) wrote(a coherence.Action, p coherence.Place, lo, hi uint64) {
	s.m.Commit(a, p, lo, hi)
	s.version++
	switch {
	case a == coherence.Discard:
	case p == coherence.Host:
		s.host.clean = false
	default:
		s.replica(p).sole.Store(true)
	}
	if len(s.lost) > 0 {
		s.found(lo, hi)
	}
	for _, d := range s.leaving {
		d.outdated(lo, hi)
	}
}

// manner is how to acquire: failing at once where an access excludes this one, waiting for it, or waiting and leaving what the write
// makes old to commit.
type manner uint8

const (
	impatient manner = iota
	patient
	reserving
)

// acquire begins an access of a device and enqueues what it needs. Unless impatient, it waits for accesses
// that exclude it until ctx ends.
func (s *storage) acquire(ctx context.Context, how manner, op string, stream *hal.Stream, action coherence.Action, lo, hi uint64, parts []extent) (slot, gen uint32, err error) {
	writes := action != coherence.Read
	if stream == nil {
		return 0, 0, failure(op, hal.ErrInvalidArgument, "nil stream")
	}
	if action != coherence.Read && action != coherence.ReadWrite && action != coherence.Overwrite {
		return 0, 0, failure(op, hal.ErrInvalidArgument, "%v is not an access; use Read, ReadWrite or Overwrite", action)
	}
	if err := stream.Err(); err != nil {
		return 0, 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(op, writes); err != nil {
		return 0, 0, err
	}
	if ctx.Err() != nil {
		return 0, 0, interrupted(op, ctx, nil)
	}
	dev := stream.Device()
	for {
		if x := s.conflict(dev, lo, hi, parts, writes); x != nil {
			if how == impatient {
				return 0, 0, s.conflictError(op, action, dev.Name(), lo, hi, x)
			}
			if err := s.settle(ctx, op, action, dev, dev.Name(), lo, hi, parts); err != nil {
				return 0, 0, err
			}
			if err := s.open(op, writes); err != nil {
				return 0, 0, err
			}
		}
		if slot, gen, err = s.leaseOn(op, stream, action, lo, hi, parts, how); err == nil {
			return slot, gen, nil
		}
		if _, full := err.(*pressure); full {
			slot, gen, err = s.squeeze(ctx, op, stream, action, lo, hi, parts, how)
		}
		excluded, ok := err.(*ConflictError)
		if !ok || how == impatient {
			return slot, gen, err
		}
		// The memory is the host's turn, and somebody is at it.
		if ctx.Err() != nil {
			return 0, 0, interrupted(op, ctx, excluded)
		}
		s.pause(ctx, cause{op: op, action: action}, lo, hi)
	}
}

// squeeze is leaseOn once more and again, on a device that is full.
func (s *storage) squeeze(ctx context.Context, op string, stream *hal.Stream, action coherence.Action, lo, hi uint64, parts []extent, how manner) (slot, gen uint32, err error) {
	writes := action != coherence.Read
	dev := stream.Device()
	// Room is made with the buffer unlocked, and everything looked at anew.
	err = s.unpressed(ctx, op, func() error {
		if err := s.open(op, writes); err != nil {
			return err
		}
		if x := s.conflict(dev, lo, hi, parts, writes); x != nil {
			return s.conflictError(op, action, dev.Name(), lo, hi, x)
		}
		slot, gen, err = s.leaseOn(op, stream, action, lo, hi, parts, how)
		return err
	})
	return slot, gen, err
}

// leaseOn is acquire, once nothing excludes it.
func (s *storage) leaseOn(op string, stream *hal.Stream, action coherence.Action, lo, hi uint64, parts []extent, how manner) (slot, gen uint32, err error) {
	writes := action != coherence.Read
	r, mem, err := s.reach(op, stream, action, lo, hi, parts)
	if err != nil {
		return 0, 0, err
	}
	slot, gen = s.accesses.begin(lo, hi, action, r.place, stream)
	x := &s.accesses.slots[slot]
	x.mem, x.parts = mem, parts
	if writes || recordSites {
		callsite.Here(&x.site)
	}
	if writes && how != reserving {
		s.wroteParts(action, r.place, lo, hi, parts)
	}
	x.begun(op)
	return slot, gen, nil
}

// bring makes the replica of the stream's device good for the action on [lo, hi), in stream order.
func (s *storage) bring(op string, stream *hal.Stream, action coherence.Action, lo, hi uint64) (*replica, *hal.Memory, error) {
	c := cause{op: op, action: action}
	r, mem, err := s.at(stream, c)
	if err != nil {
		return nil, nil, err
	}
	if r.place != coherence.Host {
		r.res.touch(r)
	}
	if action != coherence.Overwrite {
		if err := s.notice(op, r, lo, hi); err != nil {
			return nil, nil, err
		}
		valid := s.m.ValidIn(lo, hi, r.place)
		if !valid {
			if err := s.resolve(op, lo, hi, false); err != nil {
				return nil, nil, err
			}
		}
		if len(s.lost) > 0 {
			if err := s.lostIn(op, lo, hi); err != nil {
				return nil, nil, err
			}
		}
		if valid {
			s.stats.BytesAvoided += hi - lo
			if observed() {
				s.noteAvoided(c, stream.Device(), lo, hi)
			}
		} else {
			plan, err := s.m.Plan(action, r.place, lo, hi, s.cost, s.plan[:0])
			if err != nil {
				return nil, nil, err
			}
			s.plan = plan[:0]
			for _, t := range plan {
				if err := s.move(t, stream, mem, c); err != nil {
					return nil, nil, err
				}
			}
		}
	}
	if r.place == coherence.Host && s.host.mapper != nil {
		busy, err := s.unmapForDevice(stream, mem, action != coherence.Read)
		if err != nil {
			return nil, nil, err
		}
		if busy != nil {
			return nil, nil, s.conflictError(op, action, stream.Device().Name(), lo, hi, busy)
		}
	}
	return r, mem, nil
}

// release ends an access of a device. What it has written was copied from bytes that hang on unsure.
func (s *storage) release(slot, gen uint32, unsure []hazard) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.accesses.get(slot, gen)
	if x == nil {
		return failure("release", hal.ErrClosed, "the lease was released before")
	}
	r := s.replica(x.place)
	if r.hazards.crowded() {
		_ = s.resolve("", 0, s.size, true)
	}
	err := x.stream.Use(x.mem)
	z := hazard{lo: x.lo, hi: x.hi, parts: x.parts, write: x.action != coherence.Read, fresh: x.action == coherence.Overwrite}
	if len(unsure) > 0 {
		z.base, z.cut = true, true
		s.record(r, x.stream, z)
		s.hang(r, unsure)
		z.base, z.cut, z.copy, z.from = false, false, true, r.place
	}
	s.record(r, x.stream, z)
	s.used(x)
	s.ended(slot)
	return err
}

// cost ranks sources: on the same side of a link first, then the host, then any device that is
// reached directly, then the rest.
func (s *storage) cost(from, to coherence.Place) int {
	if to == coherence.Host {
		return 1
	}
	if from == coherence.Host {
		return 2
	}
	if s.devs[to-1].dev.Reaches(s.devs[from-1].dev) {
		return 1
	}
	return 3
}

// close gives everything back. Work under way goes on.
func (s *storage) close() error {
	u, err := s.shut()
	if u != nil {
		u.over()
	}
	return err
}

// shut is close, but for the release of an adopted slice.
func (s *storage) shut() (u *lastUse, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil
	}
	if s.accesses.open > 0 {
		for i := range s.accesses.slots {
			if x := &s.accesses.slots[i]; x.open {
				return nil, s.conflictError("close", coherence.Discard, "every place", 0, s.size, x)
			}
		}
	}
	s.closed = true
	c := cause{op: "Close", action: coherence.Discard}
	var first error
	keep := func(err error) {
		if first == nil {
			first = err
		}
	}
	for _, r := range s.devs {
		if r.mem != nil {
			keep(r.free(c))
		}
	}
	for _, d := range s.leaving {
		keep(d.end())
	}
	s.leaving = nil
	u = s.host.lastUse()
	s.dropHost(u, keep, c)
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
	return u, first
}

// dropHost gives the host's replica back. u is its last use, if somebody wants to know.
func (s *storage) dropHost(u *lastUse, keep func(error), c cause) {
	h := &s.host
	if h.ptr != nil || h.mapper != nil {
		s.noteReplica(EventFree, nil, c)
	}
	if h.mapper != nil && h.mapped != turnDevice {
		if stream, err := h.mapper.Device().CopyStream(false); err == nil {
			_ = h.hazards.order(stream, 0, s.size, true)
			keep(stream.Unmap(h.mapper))
		}
	}
	pooled := h.block.Live()
	for _, m := range h.shares {
		if m != h.home || !pooled {
			keep(u.close(m))
		}
	}
	for _, l := range h.locks {
		if l.mem != nil {
			keep(u.close(l.mem))
		}
	}
	if pooled {
		keep(h.hazards.handBack(h.block, h.home.Device()))
	}
	h.hazards.clear()
	h.block, h.base, h.guard = pool.Block{}, 0, nil
	h.ptr, h.bytes, h.home, h.shares, h.locks, h.mapper = nil, nil, nil, nil, nil, nil
	h.mapped, h.clean = turnDevice, false
}

// hostSlice is the host's replica of [lo, hi) bytes. An access of the host is open.
func (s *storage) hostSlice(lo uint64) unsafe.Pointer { return unsafe.Add(s.host.ptr, lo) }
