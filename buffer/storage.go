package buffer

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/go-halyard/halyard/buffer/internal/order"
	"github.com/go-halyard/halyard/buffer/internal/span"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// storage is what a buffer and all its slices share. It counts in bytes and knows no types. What it knows is in five parts, each
// with its own type: who is at the bytes (accesses), where they are current (coherence.Map), the replicas with what later work
// waits for (replica), the host's memory (hostReplica) and what a failure took (losses).
type storage struct {
	id   uint64
	elem uint64 // bytes per element
	size uint64 // bytes

	alignment uint64      // of adopted memory in bytes, 0 for what is aligned to anything
	homeOn    *hal.Device // asked for by HostMemory
	guarded   bool        // the host's replica, unless homeOn
	allocator []allocatorOn

	mu       sync.Mutex
	closed   bool
	frozen   int
	accesses accesses
	m        coherence.Map
	version  int64 // writes so far
	host     hostReplica
	devs     []*replica // by place, from 1 on
	lost     losses
	leaving  int // replicas that go once their bytes have arrived elsewhere
	stats    Stats

	recent   *replica // that a device used last, and the stream
	recentOn *hal.Stream

	scratch struct {
		plan   []coherence.Transfer
		waits  []wait
		works  []*order.Work
		left   []*order.Work
		ranges []span.Range
	}
}

var created atomic.Uint64

func newStorage(elem, size uint64, opts []Option) *storage {
	s := &storage{id: created.Add(1), elem: elem, size: size, guarded: guardAll}
	s.host.owner = s
	s.m.Init(size)
	for _, o := range opts {
		o(s)
	}
	return s
}

// whole is all of the buffer as one part.
func (s *storage) whole(mode coherence.Action) part { return part{0, s.size, mode} }

func (s *storage) closedError(op string) error {
	return hal.Errorf(op, hal.ErrClosed, "the buffer is closed")
}

// usable reports why an action cannot begin at all; s.mu is held.
func (s *storage) usable(op string, writes bool) error {
	switch {
	case s.closed:
		return s.closedError(op)
	case writes && s.frozen > 0:
		return hal.Errorf(op, ErrFrozen, "%d freezes", s.frozen)
	}
	return nil
}

// replica returns the replica at a place.
func (s *storage) replica(p coherence.Place) *replica {
	if p == coherence.Host {
		return &s.host.replica
	}
	return s.devs[p-1]
}

// replicas calls fn for every replica, until it returns false.
func (s *storage) replicas(fn func(*replica) bool) {
	if !fn(&s.host.replica) {
		return
	}
	for _, r := range s.devs {
		if !fn(r) {
			return
		}
	}
}

func (s *storage) placeName(p coherence.Place, stream *hal.Stream) string {
	switch {
	case stream != nil:
		return stream.Device().Name()
	case p == coherence.Host || int(p) > len(s.devs) || s.devs[p-1].dev == nil:
		return "host"
	}
	return s.devs[p-1].dev.Name()
}

// wrote makes a write part of the state: everything else is stale.
func (s *storage) wrote(a coherence.Action, p coherence.Place, lo, hi uint64) {
	_ = s.m.Commit(a, p, lo, hi)
	switch {
	case a == coherence.Discard:
	case p == coherence.Host:
		s.host.clean = false
	default:
		s.replica(p).dirty(true)
	}
	s.lost.forget(lo, hi)
}

// commit makes what an access is to write part of the state, as one write.
func (s *storage) commit(x *access) {
	if !x.writes {
		return
	}
	s.version++
	if x.parts == nil {
		s.wrote(x.mode, x.place, x.lo, x.hi)
		return
	}
	for _, p := range x.parts {
		if p.writes() {
			s.wrote(p.mode, x.place, p.lo, p.hi)
		}
	}
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
	if x := s.accesses.find(func(*access) bool { return true }); x != nil {
		return nil, s.conflictError("close", part{0, s.size, coherence.Discard}, "every place", x)
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
		if r.present() {
			keep(r.free(c))
		}
	}
	u = s.host.lastUse()
	s.host.drop(u, keep, c)
	return u, first
}

// hostPointer is where the host's replica has the byte at lo. An access of the host is open.
func (s *storage) hostPointer(lo uint64) unsafe.Pointer { return unsafe.Add(s.host.ptr, lo) }

// unlocked runs fn without the lock.
func (s *storage) unlocked(fn func()) {
	s.mu.Unlock()
	defer s.mu.Lock()
	fn()
}
