package buffer

import (
	"context"
	"errors"
	"fmt"
	"runtime/trace"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
)

// SetBudget limits the memory that replicas take on a device handle to so many bytes; 0, the default, sets
// no limit but the device's own. When an access needs a new replica and the budget is used up, other buffers'
// replicas are evicted: first those whose bytes are all current elsewhere as well, then those that
// must be copied to the host first, in each case the least recently used. Replicas under a lease
// stay. If that is not enough the access fails with hal.ErrOutOfMemory, which says what is held. The same
// happens, without a budget, when the device itself is out of memory.
//
// What the program's allocators keep counts once a replica has it. The memory of a replica that had to be copied
// first counts until the copy has arrived, and an access that needs its room waits for that.
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
	Used      uint64 // bytes, those of evicted replicas included that wait for a copy to arrive
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
	leaving   []*departure
	watching  bool // a goroutine looks at them
	evictions uint64
	written   uint64

	alloc pool.Allocator // by SetAllocator
	pools []weak.Pointer[pool.Pool]
}

type residencyKey struct{}

func residencyOf(dev *hal.Device) *residency {
	return dev.Value(residencyKey{}, func() any { return new(residency) }).(*residency)
}

// pressure is the error of an allocation for which others may have to make room. It stays inside the package.
type pressure struct {
	dev   *hal.Device
	cause error          // the device's or the allocator's, nil if the budget is used up
	from  pool.Allocator // that was asked, nil if the device itself
}

func (p *pressure) Error() string { return "no room on " + p.dev.Name() }

// take books a new replica, unless that exceeds the budget, and returns the device's allocator, if it has one.
func (res *residency) take(r *replica) (a pool.Allocator, ok bool) {
	res.mu.Lock()
	defer res.mu.Unlock()
	if res.limit != 0 && r.owner.size > res.limit-min(res.limit, res.used) {
		return nil, false
	}
	res.used += r.owner.size
	res.enter(r)
	return res.alloc, true
}

func (res *residency) enter(r *replica) {
	r.index = len(res.replicas)
	res.replicas = append(res.replicas, r)
}

// leave is the opposite of enter; the bytes stay booked.
func (res *residency) leave(r *replica) {
	last := len(res.replicas) - 1
	moved := res.replicas[last]
	res.replicas[r.index] = moved
	moved.index = r.index
	res.replicas[last] = nil
	res.replicas = res.replicas[:last]
}

// give removes a replica from the book.
func (res *residency) give(r *replica) {
	res.mu.Lock()
	defer res.mu.Unlock()
	res.leave(r)
	res.used -= r.owner.size
}

// touch makes r the most recently used.
func (res *residency) touch(r *replica) {
	if last := r.used.Load(); last != 0 && last == res.clock.Load() {
		return // it is so already
	}
	r.used.Store(res.clock.Add(1))
}

// relieve makes room for a replica of the storage. No storage is locked by the caller.
func (p *pressure) relieve(ctx context.Context, op string, s *storage) error {
	size := s.size
	c := cause{op: op, action: coherence.Evict, client: s.id, why: "budget"}
	if p.cause != nil {
		c.why = "out of memory"
	}
	res := residencyOf(p.dev)
	if p.hopeless(res, size) {
		return p.exhausted(res, op, size)
	}
	if p.cause != nil && res.trim(p.from) > 0 {
		return nil // that may have been enough
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var tried []*replica
	freed := uint64(0)
	for {
		res.mu.Lock()
		coming := uint64(0)
		for _, d := range res.leaving {
			coming += d.r.owner.size
		}
		room := func(used uint64) bool { return res.limit == 0 || used <= res.limit && size <= res.limit-used }
		enough, soon := room(res.used), room(res.used-coming)
		if p.cause != nil {
			enough, soon = freed >= size, freed+coming >= size
		}
		var victim *replica
		var first *departure
		if !enough && !soon {
			victim = res.victim(tried, p.from)
		}
		if victim == nil && len(res.leaving) > 0 {
			first = res.leaving[0]
		}
		res.mu.Unlock()
		switch {
		case enough:
		case victim != nil:
		case first != nil:
			back, err := first.wait(waiting, c)
			if ctx.Err() != nil {
				return interrupted(op, ctx, nil)
			}
			if err != nil {
				return p.exhausted(res, op, size)
			}
			if back {
				tried = append(tried, first.r) // it would fail again
			} else {
				freed += first.r.owner.size
			}
			continue
		case freed > 0 && p.cause != nil:
			enough = true // try with what there is
		default:
			return p.exhausted(res, op, size)
		}
		if enough {
			break
		}
		n, written, ok := victim.owner.makeRoom(victim, c)
		if !ok {
			tried = append(tried, victim)
			continue
		}
		if freed += n; n == 0 {
			tried = append(tried, victim) // it is on its way, and may come back
		}
		res.mu.Lock()
		res.evictions++
		res.written += written
		res.mu.Unlock()
	}
	if p.cause == nil {
		return nil
	}
	res.trim(p.from)
	begin := now()
	defer trace.StartRegion(ctx, "halyard: wait").End()
	err := p.dev.Reclaim(waiting)
	s.waited(c, "memory", p.dev, 0, s.size, begin)
	return err
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
	for err := p.cause; err != nil; err = errors.Unwrap(err) {
		if e, ok := err.(*hal.Error); ok && e.Shortage != nil {
			return e.Shortage.FreeKnown && size > e.Shortage.Total
		}
	}
	return false
}

// victim returns the replica that is to go next, other than those that were tried; res.mu is held. Those whose memory
// goes back where the new one's comes from go first: others may be of no use.
func (res *residency) victim(tried []*replica, from pool.Allocator) *replica {
	var best *replica
	for _, r := range res.replicas {
		if slices.Contains(tried, r) {
			continue
		}
		if best == nil || r.before(best, from) {
			best = r
		}
	}
	return best
}

func (r *replica) before(o *replica, from pool.Allocator) bool {
	if mine, its := r.comesFrom(from), o.comesFrom(from); mine != its {
		return mine
	}
	if mine, its := r.sole.Load(), o.sole.Load(); mine != its {
		return !mine
	}
	return r.used.Load() < o.used.Load()
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
func (s *storage) makeRoom(r *replica, c cause) (freed, written uint64, ok bool) {
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
	if err := s.evict(context.Background(), c, r.dev); err != nil {
		return 0, 0, false
	}
	freed = s.size
	if slices.ContainsFunc(s.leaving, func(d *departure) bool { return d.r == r }) {
		freed = 0 // not before the copy has arrived
	}
	return freed, s.stats.BytesCopied - before, true
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
		err = p.relieve(ctx, op, s)
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
