package buffer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// SetBudget limits the memory that replicas take on a device handle to so many bytes; 0, the default, sets
// no limit but the device's own. When an access needs a new replica and the budget is used up, other buffers'
// replicas are evicted: first those whose bytes are all current elsewhere as well, then those that
// must be copied to the host first, in each case the least recently used. Replicas under a lease
// stay. If that is not enough the access fails with hal.ErrOutOfMemory, which says what is held. The same
// happens, without a budget, when the device itself is out of memory.
//
// A budget lower than what is in use takes effect with the next access that needs room.
func SetBudget(dev *hal.Device, bytes uint64) {
	res := residencyOf(dev)
	res.mu.Lock()
	res.limit = bytes
	res.mu.Unlock()
}

// Residency is what replicas take on one device handle.
type Residency struct {
	Budget    uint64 // bytes, 0 for none
	Used      uint64 // bytes
	Replicas  int
	Evictions uint64 // replicas that made room for others
	Written   uint64 // bytes that had to be copied to the host first
}

// ResidencyOf returns what replicas take on a device handle.
func ResidencyOf(dev *hal.Device) Residency {
	res := residencyOf(dev)
	res.mu.Lock()
	defer res.mu.Unlock()
	return Residency{res.limit, res.used, len(res.replicas), res.evictions, res.written}
}

// residency is the book of one device handle's replicas. Its lock is taken inside a storage's.
type residency struct {
	clock atomic.Uint64

	mu        sync.Mutex
	limit     uint64
	used      uint64
	replicas  []*replica
	evictions uint64
	written   uint64
}

type residencyKey struct{}

func residencyOf(dev *hal.Device) *residency {
	return dev.Value(residencyKey{}, func() any { return new(residency) }).(*residency)
}

// pressure is the error of an allocation for which others may have to make room. It stays inside the package.
type pressure struct {
	dev   *hal.Device
	cause error // the device's own, nil if the budget is used up
}

func (p *pressure) Error() string { return "no room on " + p.dev.Name() }

// take books a new replica, unless that exceeds the budget.
func (res *residency) take(r *replica) bool {
	res.mu.Lock()
	defer res.mu.Unlock()
	if res.limit != 0 && res.used+r.owner.size > res.limit {
		return false
	}
	res.used += r.owner.size
	res.replicas = append(res.replicas, r)
	return true
}

// give removes a replica from the book.
func (res *residency) give(r *replica) {
	res.mu.Lock()
	defer res.mu.Unlock()
	if i := slices.Index(res.replicas, r); i >= 0 {
		last := len(res.replicas) - 1
		res.replicas[i] = res.replicas[last]
		res.replicas[last] = nil
		res.replicas = res.replicas[:last]
		res.used -= r.owner.size
	}
}

// touch makes r the most recently used.
func (res *residency) touch(r *replica) { r.used.Store(res.clock.Add(1)) }

// relieve makes room for size bytes. No storage is locked by the caller.
func (p *pressure) relieve(ctx context.Context, op string, size uint64) error {
	res := residencyOf(p.dev)
	if p.hopeless(res, size) {
		return p.exhausted(res, op, size)
	}
	var tried []*replica
	freed := uint64(0)
	for {
		res.mu.Lock()
		enough := res.limit == 0 || res.used+size <= res.limit
		if p.cause != nil {
			enough = freed >= size
		}
		if enough {
			res.mu.Unlock()
			break
		}
		victim := res.victim(tried)
		res.mu.Unlock()
		if victim == nil {
			if freed > 0 && p.cause != nil {
				break // try with what there is
			}
			return p.exhausted(res, op, size)
		}
		n, written, ok := victim.owner.makeRoom(victim)
		if !ok {
			tried = append(tried, victim)
			continue
		}
		freed += n
		res.mu.Lock()
		res.evictions++
		res.written += written
		res.mu.Unlock()
	}
	if p.cause == nil {
		return nil
	}
	// The device has the memory back when the write-backs are done.
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return p.dev.Reclaim(ctx)
}

// attempts is how often room is made for one allocation: others may take it.
const attempts = 64

// patience is how long an allocation waits for write-backs on a device that is out of memory.
const patience = 30 * time.Second

// hopeless reports whether evicting everything would not be enough.
func (p *pressure) hopeless(res *residency, size uint64) bool {
	if p.cause == nil {
		res.mu.Lock()
		defer res.mu.Unlock()
		return res.limit != 0 && size > res.limit
	}
	var e *hal.Error
	return errors.As(p.cause, &e) && e.Shortage != nil && e.Shortage.FreeKnown && size > e.Shortage.Total
}

// victim returns the replica that is to go next, other than those that were tried; res.mu is held.
func (res *residency) victim(tried []*replica) *replica {
	var best *replica
	for _, r := range res.replicas {
		if slices.Contains(tried, r) {
			continue
		}
		if best == nil || !r.sole.Load() && best.sole.Load() ||
			r.sole.Load() == best.sole.Load() && r.used.Load() < best.used.Load() {
			best = r
		}
	}
	return best
}

func (p *pressure) exhausted(res *residency, op string, size uint64) error {
	if p.cause != nil {
		return p.cause
	}
	res.mu.Lock()
	defer res.mu.Unlock()
	return &hal.Error{Op: op, Device: -1, Kind: hal.ErrOutOfMemory,
		Detail: fmt.Sprintf("%d bytes on %s with a budget of %d, of which %d replicas that are in use hold %d",
			size, p.dev.Name(), res.limit, len(res.replicas), res.used)}
}

// makeRoom evicts one replica, and reports the bytes that are free now and those that had to be copied. It is
// not ok if the replica is in use or has gone.
func (s *storage) makeRoom(r *replica) (freed, written uint64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || r.mem == nil {
		return 0, 0, false
	}
	for i := range s.accesses.slots {
		if x := &s.accesses.slots[i]; x.open && x.place == r.place {
			return 0, 0, false
		}
	}
	before := s.stats.BytesCopied
	if err := s.evict("Evict", r.dev); err != nil {
		return 0, 0, false
	}
	return s.size, s.stats.BytesCopied - before, true
}

// unpressed runs fn, with s.mu held, again and again while it fails for lack of room and others can make some.
func (s *storage) unpressed(ctx context.Context, op string, fn func() error) error {
	for i := 0; ; i++ {
		err := fn()
		var p *pressure
		if err == nil || !errors.As(err, &p) {
			return err
		}
		if i == attempts {
			return p.exhausted(residencyOf(p.dev), op, s.size)
		}
		s.mu.Unlock()
		err = p.relieve(ctx, op, s.size)
		s.mu.Lock()
		if err != nil {
			return err
		}
	}
}

// classify tells the book whether bytes are current at r alone. With many intervals it errs on the side of yes.
func (s *storage) classify(r *replica) {
	if r.place == coherence.Host {
		return
	}
	if s.m.Len() == 1 {
		r.sole.Store(s.m.State(0, s.size).Valid == coherence.Of(r.place))
	}
}
