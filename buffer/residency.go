package buffer

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/trace"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
	"github.com/go-halyard/halyard/internal/layer"
	"github.com/go-halyard/halyard/internal/protocol"
)

// SetBudget limits the memory of all replicas on a device to a number of bytes. 0, the default, sets
// no limit except the device's own. When an access needs a new replica and the budget is used up, replicas of other buffers
// are evicted: first those whose bytes are all current elsewhere, then those that
// must be copied to the host first, in each case the least recently used first. Replicas under a lease
// stay. If that is not enough the access fails with an error of kind hal.ErrOutOfMemory, which says how much memory replicas have. The
// same happens, without a budget, when the device itself is out of memory.
//
// Memory of an allocator counts while a replica has it. If an evicted replica has to be copied first, its memory counts until the copy has
// ended. An access that needs that memory waits for the copy until its context ends. TryAcquire, and the other calls that do not wait, fail
// instead with an error of the kinds hal.ErrNotReady and hal.ErrOutOfMemory; the copy goes on, so the same call may succeed later.
//
// If the new budget is less than the memory in use, the next access that needs room evicts replicas until the budget is met.
//
// A device that works on the host's replica in place (SharesHostMemory in [hal.Info]) has no replicas of its own, so a budget has no effect there.
func SetBudget(dev *hal.Device, bytes uint64) {
	res := residencyOf(dev)
	res.mu.Lock()
	res.limit = bytes
	res.mu.Unlock()
}

// Residency describes the memory of all replicas on one device.
type Residency struct {
	Budget      uint64 // bytes, 0 for no budget
	Used        uint64 // bytes, including evicted replicas whose copies have not ended yet
	Replicas    int
	Evictions   uint64 // number of replicas that were evicted to make room for others
	WrittenBack uint64 // bytes that had to be copied before these evictions
}

// ResidencyOf returns the residency of a device.
func ResidencyOf(dev *hal.Device) Residency {
	res := residencyOf(dev)
	res.mu.Lock()
	defer res.mu.Unlock()
	return Residency{res.limit, res.used, res.replicas, res.evictions, res.written}
}

// residency keeps account of one device's replicas: how much memory they have, and which is evicted next. A goroutine that has a storage
// locked may lock mu, but a goroutine that has locked mu must not lock a storage.
type residency struct {
	clock atomic.Uint64

	mu        sync.Mutex
	limit     uint64
	used      uint64 // bytes
	coming    uint64 // bytes of used that are freed when copies have ended
	replicas  int
	queues    map[any]*queues // by the allocator to which the memory goes back
	leaving   []*replica
	evictions uint64
	written   uint64
	steps     int // number of replicas examined in searches for one to evict

	alloc pool.Allocator // set by SetAllocator
	pools []weak.Pointer[pool.Pool]
}

// resident has the fields of a replica for its residency.
type resident struct {
	res    *residency
	leases int           // number of open accesses, during which the replica is not evicted; guarded by the storage's lock
	parked bool          // the replica is in no queue until the open accesses end; guarded by the storage's lock
	used   atomic.Uint64 // the last use, by the residency's clock
	sole   atomic.Bool   // bytes may be current nowhere else

	// Guarded by res.mu.
	in    bool     // the replica has memory that may be evicted
	key   any      // the allocator to which the memory goes back
	queue *ranking // nil if the replica is in no queue
	index int      // in the queue, or in leaving
	stamp uint64   // the use that decides its position in the queue
}

// queues are the replicas with memory of one allocator: in the first queue those whose bytes are all current elsewhere, in the second the
// others.
type queues [2]ranking

// ranking is a heap of replicas; the replica to evict first is on top. A replica's last use, and whether its bytes are current elsewhere, may
// have changed since it was put into the queue; first checks both.
type ranking []*replica

func (q ranking) Len() int           { return len(q) }
func (q ranking) Less(i, j int) bool { return q[i].stamp < q[j].stamp }
func (q ranking) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}
func (q *ranking) Push(x any) {
	r := x.(*replica)
	r.index = len(*q)
	*q = append(*q, r)
}
func (q *ranking) Pop() any {
	last := len(*q) - 1
	r := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return r
}

type residencyKey struct{}

func residencyOf(dev *hal.Device) *residency {
	return layer.Value(dev, residencyKey{}, func() any { return &residency{queues: map[any]*queues{}} }).(*residency)
}

// take counts a new replica and returns the device's allocator, if it has one. ok is false, and nothing is counted, if the replica would
// exceed the budget.
func (res *residency) take(r *replica) (a pool.Allocator, ok bool) {
	res.mu.Lock()
	defer res.mu.Unlock()
	if res.limit != 0 && r.owner.size > res.limit-min(res.limit, res.used) {
		return nil, false
	}
	res.used += r.owner.size
	res.replicas++
	return res.alloc, true
}

// give removes a replica from the count.
func (res *residency) give(r *replica) {
	res.mu.Lock()
	defer res.mu.Unlock()
	if r.leaving {
		res.left(r)
	} else {
		res.replicas--
	}
	res.remove(r)
	r.in = false
	res.used -= r.owner.size
}

// enter allows the eviction of a new replica after the end of the access for which it was made; before that its use is not known. from
// is the allocator of its memory, nil for the device.
func (res *residency) enter(r *replica, from pool.Allocator) {
	res.mu.Lock()
	defer res.mu.Unlock()
	r.key, r.in = keyOf(from), true
	r.sole.Store(false)
	r.parked = true
}

// keyOf returns the key of an allocator. Allocators whose types cannot be compared have one common key.
func keyOf(a pool.Allocator) any {
	if a != nil && !reflect.TypeOf(a).Comparable() {
		return incomparable{}
	}
	return a
}

type incomparable struct{}

func (res *residency) insert(r *replica) {
	qs := res.queues[r.key]
	if qs == nil {
		qs = new(queues)
		res.queues[r.key] = qs
	}
	q := &qs[0]
	if r.sole.Load() {
		q = &qs[1]
	}
	r.queue, r.stamp = q, r.used.Load()
	heap.Push(q, r)
}

func (res *residency) remove(r *replica) {
	if r.queue == nil {
		return
	}
	heap.Remove(r.queue, r.index)
	r.queue = nil
	if qs := res.queues[r.key]; len(qs[0])+len(qs[1]) == 0 {
		delete(res.queues, r.key)
	}
}

// touch makes r the most recently used.
func (r *replica) touch() {
	if r.res == nil {
		return // the host's replica has no residency
	}
	if last := r.used.Load(); last != 0 && last == r.res.clock.Load() {
		return // r is the most recently used already
	}
	r.used.Store(r.res.clock.Add(1))
}

// begin and end count the open accesses, during which the replica is not evicted.
func (r *replica) begin() {
	if r.res != nil { // the host's replica has no residency
		r.leases++
	}
}

func (r *replica) end() {
	if r.res == nil {
		return
	}
	if r.leases--; r.parked {
		r.unpark()
	}
}

func (r *replica) unpark() {
	if r.leases == 0 {
		r.parked = false
		r.res.restore(r)
	}
}

// dirty records whether bytes may be current only at r.
func (r *replica) dirty(sole bool) {
	if r.res == nil {
		return
	}
	if r.sole.Load() == sole {
		return
	}
	r.sole.Store(sole)
	if sole {
		return // first moves r to the other queue when r is on top
	}
	r.res.mu.Lock()
	defer r.res.mu.Unlock()
	if r.queue != nil {
		r.res.remove(r)
		r.res.insert(r)
	}
}

// victim removes the replica to evict next from its queue and returns it, or nil if there is none. Replicas whose memory goes back to the
// allocator of the new replica are evicted before all others.
func (res *residency) victim(from pool.Allocator) *replica {
	res.mu.Lock()
	defer res.mu.Unlock()
	best := res.first(res.queues[keyOf(from)])
	if best == nil {
		for _, qs := range res.queues {
			if r := res.first(qs); r != nil && (best == nil || r.before(best)) {
				best = r
			}
		}
	}
	if best != nil {
		res.remove(best)
	}
	return best
}

func (r *replica) before(o *replica) bool {
	if mine, its := r.sole.Load(), o.sole.Load(); mine != its {
		return its
	}
	return r.stamp < o.stamp
}

// first returns the replica of these queues to evict first. It moves replicas that have been used, or have become the only place of some
// bytes, since they were put into their queue.
func (res *residency) first(qs *queues) *replica {
	if qs == nil {
		return nil
	}
	for i := range qs {
		for q := &qs[i]; len(*q) > 0; {
			r := (*q)[0]
			res.steps++
			switch {
			case i == 0 && r.sole.Load():
				res.remove(r)
				res.insert(r)
			case r.stamp != r.used.Load():
				r.stamp = r.used.Load()
				heap.Fix(q, 0)
			default:
				return r
			}
		}
	}
	return nil
}

// restore puts replicas that victim has removed, and that stay, back into their queues.
func (res *residency) restore(list ...*replica) {
	res.mu.Lock()
	defer res.mu.Unlock()
	for _, r := range list {
		res.steps++
		if r.in && r.queue == nil {
			res.insert(r)
		}
	}
}

// depart records that a replica is leaving: its memory will be freed when copies have ended.
func (r *replica) depart() {
	r.leaving = true
	if r.res == nil {
		return
	}
	res := r.res
	res.mu.Lock()
	defer res.mu.Unlock()
	res.remove(r)
	r.in = false
	res.replicas--
	res.coming += r.owner.size
	r.index = len(res.leaving)
	res.leaving = append(res.leaving, r)
}

// left is the opposite of depart; res.mu is held.
func (res *residency) left(r *replica) {
	last := len(res.leaving) - 1
	res.leaving[r.index] = res.leaving[last]
	res.leaving[r.index].index = r.index
	res.leaving[last] = nil
	res.leaving = res.leaving[:last]
	res.coming -= r.owner.size
}

// stay keeps a replica that was leaving.
func (r *replica) stay() {
	r.leaving = false
	r.owner.leaving--
	if r.res != nil {
		r.res.mu.Lock()
		r.res.left(r)
		r.res.replicas++
		r.in = true
		r.res.insert(r)
		r.res.mu.Unlock()
	}
	r.decided()
}

// decided wakes the goroutines that wait until a leaving replica has been freed or stays.
func (r *replica) decided() {
	if r.parting != nil {
		close(r.parting)
		r.parting = nil
	}
}

// pressure is the error of an allocation for which other replicas may have to be evicted. No call returns it to the program.
type pressure struct {
	dev   *hal.Device
	cause error          // the error of the device or the allocator, nil if the budget is used up
	from  pool.Allocator // the allocator that failed, nil for the device itself
}

func (p *pressure) Error() string { return "no room on " + p.dev.Name() }

// attempts is the number of times that room is made for one allocation. Each time other allocations may take the room first.
const attempts = 64

// relieve makes room for a replica of the storage, which is not locked. It waits for copies under way until ctx ends, or fails if try is set.
// wait says that, if there is still no room, freed memory is on its way back.
func (p *pressure) relieve(ctx context.Context, op string, s *storage, try bool) (wait bool, err error) {
	size, res := s.size, residencyOf(p.dev)
	c := cause{op: op, action: protocol.Evict, client: s.id, why: "budget"}
	if p.cause != nil {
		c.why = "out of memory"
	}
	if p.hopeless(res, size) {
		return false, p.exhausted(res, op, size)
	}
	if p.cause != nil && res.trim(p.from) > 0 {
		return !try, nil // the freed memory may be enough
	}
	var refused []*replica
	defer func() { res.restore(refused...) }()
	freed := uint64(0)
	for {
		if ctx.Err() != nil {
			return false, p.interrupted(ctx, res, op, size)
		}
		enough, soon, first := p.room(res, size, freed)
		if enough {
			break
		}
		if !soon {
			if victim := res.victim(p.from); victim != nil {
				refused = append(refused, victim) // also if an observer panics now
				n, written, leased, ok := victim.makeRoom(c)
				if ok || leased { // the end of the lease puts it back
					refused = refused[:len(refused)-1]
				}
				if !ok {
					continue
				}
				freed += n
				res.mu.Lock()
				res.evictions++
				res.written += written
				res.mu.Unlock()
				continue
			}
		}
		if first == nil {
			if freed > 0 && p.cause != nil {
				break // try with the room that was made
			}
			return false, p.exhausted(res, op, size)
		}
		if try {
			return false, p.later(res, op, size)
		}
		stays, err := first.awaitParting(ctx, c)
		switch {
		case err != nil:
			return false, p.interrupted(ctx, res, op, size)
		case stays:
			refused = append(refused, res.withhold(first)) // its copies would fail again
		default:
			freed += first.owner.size
		}
	}
	if p.cause != nil {
		res.trim(p.from)
	}
	return p.cause != nil, nil
}

// reclaim waits until the device has freed all closed memory, because work under way may still use evicted memory. The storage
// is not locked.
func (p *pressure) reclaim(ctx context.Context, op string, s *storage) error {
	begin := now()
	defer trace.StartRegion(ctx, "halyard: wait").End()
	err := p.dev.Reclaim(ctx)
	s.waited(cause{op: op, action: protocol.Evict, client: s.id, why: "out of memory"}, "memory", p.dev, 0, s.size, begin)
	if ctx.Err() != nil {
		return p.interrupted(ctx, residencyOf(p.dev), op, s.size)
	}
	return err
}

// room reports whether there is enough room for size bytes, and whether there soon will be without another eviction. first is the leaving
// replica to wait for, nil if none is leaving.
func (p *pressure) room(res *residency, size, freed uint64) (enough, soon bool, first *replica) {
	res.mu.Lock()
	defer res.mu.Unlock()
	if len(res.leaving) > 0 {
		first = res.leaving[0]
	}
	if p.cause != nil {
		return freed >= size, freed+res.coming >= size, first
	}
	fits := func(used uint64) bool { return res.limit == 0 || used <= res.limit && size <= res.limit-used }
	return fits(res.used), fits(res.used - res.coming), first
}

// withhold removes a replica from its queue until it is restored.
func (res *residency) withhold(r *replica) *replica {
	res.mu.Lock()
	defer res.mu.Unlock()
	res.remove(r)
	return r
}

// hopeless reports whether the eviction of all replicas would not be enough.
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

func (p *pressure) exhausted(res *residency, op string, size uint64) error {
	if p.cause != nil {
		return p.cause
	}
	res.mu.Lock()
	defer res.mu.Unlock()
	detail := fmt.Sprintf("%d bytes on %s with a budget of %d: %d replicas that cannot be evicted now have %d bytes",
		size, p.dev.Name(), res.limit, res.replicas, res.used-res.coming)
	if res.coming > 0 {
		detail += fmt.Sprintf(", and %d bytes are not free until the copies of evicted replicas have ended", res.coming)
	}
	return &hal.Error{Op: op, Device: -1, Kind: hal.ErrOutOfMemory, Detail: detail}
}

// later is the error of a call that does not wait, if there will be room when earlier work has ended.
func (p *pressure) later(res *residency, op string, size uint64) error {
	return &hal.Error{Op: op, Device: -1, Kind: hal.ErrNotReady, Err: p.exhausted(res, op, size),
		Detail: "earlier work on " + p.dev.Name() + " has to end before there is room"}
}

// interrupted is the error of a wait for room that ended because ctx ended. It says what uses the memory.
func (p *pressure) interrupted(ctx context.Context, res *residency, op string, size uint64) error {
	full := p.exhausted(res, op, size)
	return gaveUp(op, ctx, strings.TrimPrefix(full.Error(), op+": "), full)
}

// makeRoom evicts one replica, and returns the number of bytes that are free now and the number that had to be copied. ok is false if the
// replica is in use (leased), has no memory any more, or cannot be evicted.
func (r *replica) makeRoom(c cause) (freed, written uint64, leased, ok bool) {
	s := r.owner
	s.mu.Lock()
	defer s.unlock()
	if s.closed || r.mem == nil || r.leaving {
		return 0, 0, false, false
	}
	if r.leases > 0 {
		r.parked = true
		return 0, 0, true, false
	}
	before := s.stats.BytesCopied
	if err := r.evict(c); err != nil {
		waitForNone(err)
		return 0, 0, false, false
	}
	if !r.leaving {
		freed = s.size
	}
	return freed, s.stats.BytesCopied - before, false, true
}

// unpressed runs fn, with s.mu held, and repeats it as long as it fails for lack of room and room can be made. If try is set it does not wait.
func (s *storage) unpressed(ctx context.Context, op string, try bool, fn func() error) error {
	evicted := false
	for i := 0; ; i++ {
		err := fn()
		p, ok := err.(*pressure)
		switch {
		case !ok:
			return err
		case i == attempts:
			return p.exhausted(residencyOf(p.dev), op, s.size)
		case evicted && try:
			return p.later(residencyOf(p.dev), op, s.size)
		}
		s.unlocked(func() {
			if evicted { // the eviction was not enough: work under way may still use the memory
				evicted, err = false, p.reclaim(ctx, op, s)
			} else {
				evicted, err = p.relieve(ctx, op, s, try)
			}
		})
		if err != nil {
			return err
		}
	}
}

// classify records whether bytes are current only at r. If the state has more than one interval, it changes nothing.
func (r *replica) classify() {
	s := r.owner
	if r.res != nil && s.m.Len() == 1 {
		r.dirty(s.m.State(0, s.size).Valid == protocol.Of(r.place))
	}
}

// classify does that for every replica, after one of them has lost bytes.
func (s *storage) classify() {
	for _, r := range s.places.devs {
		r.classify()
	}
}

// know remembers a pool, so that trim can make it free memory.
func (res *residency) know(p *pool.Pool) {
	if p == nil {
		return
	}
	res.mu.Lock()
	defer res.mu.Unlock()
	w := weak.Make(p)
	if !slices.Contains(res.pools, w) {
		res.pools = slices.DeleteFunc(res.pools, func(w weak.Pointer[pool.Pool]) bool { return w.Value() == nil })
		res.pools = append(res.pools, w)
	}
}

// trim makes the known pools free the memory that they keep, and returns the number of bytes. It leaves out the pool asked, whose allocation
// has failed.
func (res *residency) trim(asked pool.Allocator) (released uint64) {
	res.mu.Lock()
	pools := slices.Clone(res.pools)
	res.mu.Unlock()
	for _, w := range pools {
		if p := w.Value(); p != nil && asked != pool.Allocator(p) {
			released += p.Trim(0)
		}
	}
	return released
}
