package buffer

import (
	"context"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/callsite"
)

// storage is what a buffer and all its slices share. It counts in bytes and knows no types.
type storage struct {
	id   uint64
	elem uint64 // bytes per element
	size uint64 // bytes

	mu       sync.Mutex
	closed   bool
	frozen   int
	m        coherence.Map
	version  int64 // writes so far
	host     hostReplica
	homeOn   *hal.Device // asked for by HostMemory
	devs     []*replica  // by place, from 1 on
	accesses accesses
	changed  chan struct{} // closed when an access ends, nil while nobody waits
	lost     []lost
	stats    Stats

	self int // slot+1 of the host's access on whose behalf the replica is being mapped, 0 for none

	plan    []coherence.Transfer // scratch
	pending []hazard             // scratch
}

var created atomic.Uint64

func newStorage(elem, size uint64, opts []Option) *storage {
	s := &storage{id: created.Add(1), elem: elem, size: size}
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
	if writes && s.frozen > 0 {
		return failure(op, ErrFrozen, "%d freezes", s.frozen)
	}
	return nil
}

// enter begins an access of the host to [lo, hi) bytes and returns when its bytes are there.
func (s *storage) enter(ctx context.Context, op string, action coherence.Action, lo, hi uint64) (slot uint32, err error) {
	writes := action != coherence.Read
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.open(op, writes); err != nil {
		return 0, err
	}
	if err := ctx.Err(); err != nil {
		return 0, interrupted(op, ctx, nil)
	}
	for {
		if s.accesses.open > 0 {
			if err := s.settle(ctx, op, action, nil, "host", lo, hi); err != nil {
				return 0, err
			}
			if err := s.open(op, writes); err != nil {
				return 0, err
			}
		}
		if err := s.hold(); err != nil {
			return 0, err
		}
		slot, _ = s.accesses.begin(lo, hi, action, coherence.Host, nil)
		if writes || recordSites {
			callsite.Here(&s.accesses.slots[slot].site)
		}
		err := s.fetch(ctx, op, action, lo, hi, slot)
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
			s.pause(ctx)
		}
		if err := s.open(op, writes); err != nil {
			return 0, err
		}
	}
	if writes {
		s.wrote(action, coherence.Host, lo, hi)
		s.host.clean = false
	}
	return slot, nil
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
		needed := action != coherence.Overwrite && !s.m.ValidIn(lo, hi, coherence.Host)
		if first && !needed && action != coherence.Overwrite {
			s.stats.BytesAvoided += hi - lo
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
				s.clearHost(lo, hi, op)
			}
			return nil
		}
		pending := s.pending
		s.pending = nil // another may need scratch while the lock is open
		s.self = 0
		s.mu.Unlock()
		err := s.await(ctx, op, lo, hi, pending)
		s.mu.Lock()
		clear(pending)
		s.pending = pending[:0]
		if err != nil {
			return interrupted(op, ctx, nil)
		}
		if err := s.sweep(op, &h.replica, lo, hi); err != nil {
			return err
		}
		for _, r := range s.devs {
			if err := s.sweep(op, r, lo, hi); err != nil {
				return err
			}
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
		if err := s.move(t, nil, nil, op); err != nil {
			return false, err
		}
	}
	return zeros, nil
}

// clearHost zeroes what was never written in [lo, hi); nothing else uses the bytes.
func (s *storage) clearHost(lo, hi uint64, cause string) {
	plan, err := s.m.Plan(coherence.Read, coherence.Host, lo, hi, s.cost, s.plan[:0])
	if err != nil {
		return
	}
	s.plan = plan[:0]
	for _, t := range plan {
		if t.From == coherence.NoPlace {
			clear(s.host.slice(t.Lo, t.Hi))
			s.account(t, nil, cause)
			s.m.Apply(t)
		}
	}
}

// sweep looks for failures in finished work on a replica and returns the first.
func (s *storage) sweep(op string, r *replica, lo, hi uint64) error {
	var first error
	r.hazards.sweep(lo, hi, func(z hazard, err error) {
		s.failed(r, z, err)
		if first == nil && z.write {
			first = &hal.Error{Op: op, Device: -1, Kind: kindOf(err), Err: err, Detail: "work under way failed"}
		}
	})
	return first
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
	s.ended(slot)
	s.mu.Unlock()
}

// wrote makes an access that writes part of the state.
func (s *storage) wrote(a coherence.Action, p coherence.Place, lo, hi uint64) {
	s.m.Commit(a, p, lo, hi)
	s.version++
	if a != coherence.Discard && p != coherence.Host {
		s.replica(p).sole.Store(true)
	}
	if len(s.lost) > 0 {
		s.found(lo, hi)
	}
}

// acquire begins an access of a device and enqueues what it needs. If patient, it waits for accesses
// that exclude it until ctx ends; if not, it fails.
func (s *storage) acquire(ctx context.Context, patient bool, op string, stream *hal.Stream, action coherence.Action, lo, hi uint64) (slot, gen uint32, err error) {
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
		if x := s.conflict(dev, lo, hi, writes); x != nil {
			if !patient {
				return 0, 0, s.conflictError(op, action, dev.Name(), lo, hi, x)
			}
			if err := s.settle(ctx, op, action, dev, dev.Name(), lo, hi); err != nil {
				return 0, 0, err
			}
			if err := s.open(op, writes); err != nil {
				return 0, 0, err
			}
		}
		slot, gen, err = s.lease(ctx, op, stream, action, lo, hi)
		excluded, ok := err.(*ConflictError)
		if !ok || !patient {
			return slot, gen, err
		}
		// The memory is the host's turn, and somebody is at it.
		if ctx.Err() != nil {
			return 0, 0, interrupted(op, ctx, excluded)
		}
		s.pause(ctx)
	}
}

// lease is acquire, once nothing excludes it. It makes room if the device is full.
func (s *storage) lease(ctx context.Context, op string, stream *hal.Stream, action coherence.Action, lo, hi uint64) (slot, gen uint32, err error) {
	writes := action != coherence.Read
	dev := stream.Device()
	if err := s.leaseOn(op, stream, action, lo, hi, &slot, &gen); err != nil {
		if _, full := err.(*pressure); !full {
			return 0, 0, err
		}
		// Room is made with the buffer unlocked, and everything looked at anew.
		err = s.unpressed(ctx, op, func() error {
			if err := s.open(op, writes); err != nil {
				return err
			}
			if x := s.conflict(dev, lo, hi, writes); x != nil {
				return s.conflictError(op, action, dev.Name(), lo, hi, x)
			}
			return s.leaseOn(op, stream, action, lo, hi, &slot, &gen)
		})
		if err != nil {
			return 0, 0, err
		}
	}
	return slot, gen, nil
}

// leaseOn is acquire, once nothing excludes it.
func (s *storage) leaseOn(op string, stream *hal.Stream, action coherence.Action, lo, hi uint64, slot, gen *uint32) error {
	writes := action != coherence.Read
	r, mem, err := s.bring(op, stream, action, lo, hi)
	if err != nil {
		return err
	}
	if err := r.hazards.order(stream, lo, hi, writes); err != nil {
		return err
	}
	*slot, *gen = s.accesses.begin(lo, hi, action, r.place, stream)
	x := &s.accesses.slots[*slot]
	x.mem = mem
	if writes || recordSites {
		callsite.Here(&x.site)
	}
	if writes {
		s.wrote(action, r.place, lo, hi)
		if r.place == coherence.Host {
			s.host.clean = false
		}
	}
	return nil
}

// bring makes the replica of the stream's device good for the action on [lo, hi), in stream order.
func (s *storage) bring(op string, stream *hal.Stream, action coherence.Action, lo, hi uint64) (*replica, *hal.Memory, error) {
	r, mem, err := s.at(stream.Device())
	if err != nil {
		return nil, nil, err
	}
	if r.place != coherence.Host {
		r.res.touch(r)
	}
	if action != coherence.Overwrite {
		if len(s.lost) > 0 {
			if err := s.lostIn(op, lo, hi); err != nil {
				return nil, nil, err
			}
		}
		if s.m.ValidIn(lo, hi, r.place) {
			s.stats.BytesAvoided += hi - lo
		} else {
			plan, err := s.m.Plan(action, r.place, lo, hi, s.cost, s.plan[:0])
			if err != nil {
				return nil, nil, err
			}
			s.plan = plan[:0]
			for _, t := range plan {
				if err := s.move(t, stream, mem, op); err != nil {
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

// release ends an access of a device.
func (s *storage) release(slot, gen uint32) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.accesses.get(slot, gen)
	if x == nil {
		return failure("release", hal.ErrClosed, "the lease was released before")
	}
	err := x.stream.Use(x.mem)
	s.record(s.replica(x.place), x.stream, x.lo, x.hi, x.action != coherence.Read, false)
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	if s.accesses.open > 0 {
		for i := range s.accesses.slots {
			if x := &s.accesses.slots[i]; x.open {
				return s.conflictError("close", coherence.Discard, "every place", 0, s.size, x)
			}
		}
	}
	s.closed = true
	var first error
	keep := func(err error) {
		if first == nil {
			first = err
		}
	}
	for _, r := range s.devs {
		if r.mem != nil {
			keep(r.free())
		}
	}
	s.dropHost(keep)
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
	return first
}

// dropHost gives the host's replica back.
func (s *storage) dropHost(keep func(error)) {
	h := &s.host
	if h.mapper != nil && h.mapped != turnDevice {
		if stream, err := h.mapper.Device().CopyStream(false); err == nil {
			_ = h.hazards.order(stream, 0, s.size, true)
			keep(stream.Unmap(h.mapper))
		}
	}
	h.hazards.clear()
	for _, m := range h.shares {
		keep(m.Close())
	}
	for _, l := range h.locks {
		if l.mem != nil {
			keep(l.mem.Close())
		}
	}
	h.ptr, h.bytes, h.home, h.shares, h.locks, h.mapper = nil, nil, nil, nil, nil, nil
	h.mapped, h.clean = turnDevice, false
}

// hostSlice is the host's replica of [lo, hi) bytes. An access of the host is open.
func (s *storage) hostSlice(lo uint64) unsafe.Pointer { return unsafe.Add(s.host.ptr, lo) }
