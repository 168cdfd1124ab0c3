// Package resident keeps account of the memory that replicas have on each device: how much it is, which replica is evicted next to make
// room, and from which allocator it comes.
//
// An [Account] belongs to a device, and an [Entry] to a replica. The account knows a replica only as a [Replica], which it asks to free
// its memory. A replica whose bytes must be copied elsewhere first is leaving: its memory counts until the copies have ended.
//
// The fields of an Entry that only the replica's owner uses are guarded by the owner's lock, the others by that of the account. A
// goroutine that has the owner's lock may lock the account, so no replica is called while the account is locked.
package resident

import (
	"container/heap"
	"context"
	"reflect"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
	"github.com/go-halyard/halyard/internal/layer"
)

// Replica is a replica that can be evicted to make room for others. Its methods lock its owner.
type Replica interface {
	// Evict frees the replica's memory, or makes it leave. freed is the number of bytes that are free now, and written the number that had
	// to be copied. ok is false if the replica is in use (leased), has no memory any more, or cannot be evicted.
	Evict(c Cause) (freed, written uint64, leased, ok bool)
	// AwaitLeaving waits until a leaving replica has been freed, or stays after all.
	AwaitLeaving(ctx context.Context, c Cause) (stays bool, err error)
	// Brief reports whether the replica is in use, and only by leases that end by themselves. Leases of the launch that is passed as but do not
	// count as such.
	Brief(but *Division) bool
}

// Cause is why room is made: the call that needs the room, the number of the buffer that needs it, and what is short.
type Cause struct {
	Op     string
	Client uint64
	Why    string // "budget" or "out of memory"
}

// Account has the replicas on one device.
type Account struct {
	clock atomic.Uint64

	mu        sync.Mutex
	budget    uint64 // bytes, 0 for none
	used      uint64 // bytes
	coming    uint64 // bytes of used that are freed when copies have ended
	replicas  int
	rankings  map[any]*rankings // by the allocator to which the memory goes back
	leaving   []*Entry
	evictions uint64
	written   uint64
	steps     int // number of replicas examined in searches for one to evict

	alloc  pool.Allocator // set by SetAllocator
	pools  []weak.Pointer[pool.Pool]
	parked map[*Entry]bool // replicas that are in no ranking until open accesses end

	flights int  // see flight
	watched bool // a call waits until flights is 0

	line    []*Turn
	waiting atomic.Int32 // the length of line
}

// Figures are what [Account.Figures] reports, in bytes, except Replicas and Evictions.
type Figures struct {
	Budget, Used uint64
	Replicas     int
	Evictions    uint64
	Written      uint64
}

// Entry is a replica in the account of its device.
type Entry struct {
	account *Account
	replica Replica
	size    uint64

	leases  int           // number of open accesses, during which the replica is not evicted; guarded by the owner's lock
	parked  bool          // the replica is in no ranking until the open accesses end; guarded by the owner's lock
	hushed  *Turn         // of the call that ends its access because it lacks memory for another; guarded by the owner's lock
	leaving bool          // guarded by the owner's lock
	used    atomic.Uint64 // the last use, by the account's clock
	sole    atomic.Bool   // bytes may be current nowhere else

	// Guarded by account.mu.
	evictable bool     // the replica has memory that may be evicted
	key       any      // the allocator to which the memory goes back
	ranking   *ranking // nil if the replica is in no ranking
	index     int      // in the ranking, or in account.leaving
	stamp     uint64   // the use that decides its position in the ranking
}

// rankings are the replicas with memory of one allocator: in the first those whose bytes are all current elsewhere, in the second the
// others.
type rankings [2]ranking

// ranking is a heap of replicas; the replica to evict first is on top. A replica's last use, and whether its bytes are current elsewhere,
// may have changed since it was put into the ranking; first checks both.
type ranking []*Entry

func (q ranking) Len() int           { return len(q) }
func (q ranking) Less(i, j int) bool { return q[i].stamp < q[j].stamp }
func (q ranking) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}
func (q *ranking) Push(x any) {
	e := x.(*Entry)
	e.index = len(*q)
	*q = append(*q, e)
}
func (q *ranking) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return e
}

type accountKey struct{}

// Of returns the account of a device.
func Of(dev *hal.Device) *Account {
	return layer.Value(dev, accountKey{}, func() any { return &Account{rankings: map[any]*rankings{}, parked: map[*Entry]bool{}} }).(*Account)
}

// SetBudget sets the budget in bytes, 0 for none.
func (a *Account) SetBudget(bytes uint64) {
	a.mu.Lock()
	a.budget = bytes
	a.stir(nil)
	a.mu.Unlock()
}

// Figures returns what the account counts.
func (a *Account) Figures() Figures {
	a.mu.Lock()
	defer a.mu.Unlock()
	return Figures{a.budget, a.used, a.replicas, a.evictions, a.written}
}

// Steps returns the number of replicas examined so far in searches for one to evict. Tests measure with it how costs grow.
func (a *Account) Steps() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.steps
}

// Init makes e the entry of a replica on the device, which has no memory yet. size is the number of bytes that it will have.
func (e *Entry) Init(dev *hal.Device, replica Replica, size uint64) {
	e.account, e.replica, e.size = Of(dev), replica, size
}

// count adds the replica to the account and returns the device's allocator, if it has one. ok is false, and nothing is counted, if the
// replica would exceed the budget.
func (e *Entry) count() (alloc pool.Allocator, ok bool) {
	a := e.account
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.budget != 0 && e.size > a.budget-min(a.budget, a.used) {
		return nil, false
	}
	a.used += e.size
	a.replicas++
	a.flight(1)
	return a.alloc, true
}

// Uncount removes a replica that has lost its memory from the account.
func (e *Entry) Uncount() {
	a := e.account
	a.mu.Lock()
	defer a.mu.Unlock()
	e.uncount()
	a.stir(nil)
}

// uncount is Uncount for a call that has not got the memory; account.mu is held.
func (e *Entry) uncount() {
	a := e.account
	if e.leaving {
		e.leaving = false
		a.left(e)
	} else {
		a.replicas--
	}
	a.remove(e)
	delete(a.parked, e)
	e.evictable = false
	a.used -= e.size
}

// enter allows the eviction of a new replica. It is parked until the access for which it was made ends, because that access would refuse
// its eviction. from is the allocator of its memory, nil for the device.
func (e *Entry) enter(from pool.Allocator) {
	a := e.account
	a.mu.Lock()
	defer a.mu.Unlock()
	e.key, e.evictable = keyOf(from), true
	e.sole.Store(false)
	e.parked, a.parked[e] = true, true
	a.flight(-1)
}

// keyOf returns the key of an allocator. Allocators whose types cannot be compared have one common key.
func keyOf(a pool.Allocator) any {
	if a != nil && !reflect.TypeOf(a).Comparable() {
		return incomparable{}
	}
	return a
}

type incomparable struct{}

func (a *Account) insert(e *Entry) {
	qs := a.rankings[e.key]
	if qs == nil {
		qs = new(rankings)
		a.rankings[e.key] = qs
	}
	q := &qs[0]
	if e.sole.Load() {
		q = &qs[1]
	}
	e.enlist(q)
}

// enlist puts an entry that is in no ranking into one; the account's mu is held.
func (e *Entry) enlist(q *ranking) {
	e.ranking, e.stamp = q, e.used.Load()
	heap.Push(q, e)
}

func (a *Account) remove(e *Entry) {
	if e.ranking == nil {
		return
	}
	heap.Remove(e.ranking, e.index)
	e.ranking = nil
	if qs := a.rankings[e.key]; len(qs[0])+len(qs[1]) == 0 {
		delete(a.rankings, e.key)
	}
}

// AddLease and EndLease count the open accesses, during which the replica is not evicted. AddLease makes the replica the most recently
// used. For the zero Entry, that of a replica with no account, they do nothing, as does SetSole.
func (e *Entry) AddLease() {
	if e.account == nil {
		return
	}
	e.leases++
	if last := e.used.Load(); last == 0 || last != e.account.clock.Load() { // else it is the most recently used already
		e.used.Store(e.account.clock.Add(1))
	}
}

// EndLeaseOf is EndLease for a call that gives its leases back because it lacks memory for another: that is no reason to try again.
func (e *Entry) EndLeaseOf(t *Turn) {
	e.hushed = t
	e.EndLease()
	e.hushed = nil
}

// EndLease is the opposite of AddLease.
func (e *Entry) EndLease() {
	if e.account != nil {
		e.endLease()
	}
}

func (e *Entry) endLease() {
	if e.leases--; e.parked {
		e.unpark()
	}
}

func (e *Entry) unpark() {
	if e.leases == 0 {
		e.parked = false
		e.account.restore(e)
	}
}

// ParkIfLeased reports whether an access is open. If so, it parks the replica: victim has removed it from its ranking, and the end of the
// access puts it back.
func (e *Entry) ParkIfLeased() bool {
	if e.leases == 0 {
		return false
	}
	e.parked = true
	e.account.mu.Lock()
	defer e.account.mu.Unlock()
	e.account.parked[e] = true
	return true
}

// SetSole records whether bytes may be current only at the replica.
func (e *Entry) SetSole(sole bool) {
	if e.account == nil || e.sole.Load() == sole {
		return
	}
	e.sole.Store(sole)
	if sole {
		return // the method first moves it to the other ranking when it is on top
	}
	a := e.account
	a.mu.Lock()
	defer a.mu.Unlock()
	if e.ranking != nil {
		heap.Remove(e.ranking, e.index)
		e.enlist(&a.rankings[e.key][0])
	}
}

// victim removes the replica to evict next from its ranking and returns it, or nil if there is none. If an allocation failed, replicas
// whose memory goes back to the allocator that failed are evicted before all others, because only their memory is sure to help it. A budget
// counts every replica alike.
func (a *Account) victim(p *Pressure) (best *Entry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p.cause != nil {
		best = a.first(a.rankings[keyOf(p.from)])
	}
	if best == nil {
		for _, qs := range a.rankings {
			if e := a.first(qs); e != nil && (best == nil || e.before(best)) {
				best = e
			}
		}
	}
	if best != nil {
		a.remove(best)
	}
	return best
}

func (e *Entry) before(o *Entry) bool {
	if mine, its := e.sole.Load(), o.sole.Load(); mine != its {
		return its
	}
	return e.stamp < o.stamp
}

// first returns the replica of these rankings to evict first. It moves replicas that have been used, or have become the only place of some
// bytes, since they were put into their ranking.
func (a *Account) first(qs *rankings) *Entry {
	if qs == nil {
		return nil
	}
	for i := range qs {
		for q := &qs[i]; len(*q) > 0; {
			e := (*q)[0]
			a.steps++
			switch {
			case i == 0 && e.sole.Load():
				heap.Pop(q) // not remove, which would take empty rankings out of the map that victim ranges over
				e.enlist(&qs[1])
			case e.stamp != e.used.Load():
				e.stamp = e.used.Load()
				heap.Fix(q, 0)
			default:
				return e
			}
		}
	}
	return nil
}

// restore puts replicas that victim has removed, and that stay, back into their rankings.
func (a *Account) restore(list ...*Entry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range list {
		a.steps++
		if a.parked[e] {
			delete(a.parked, e)
			a.stir(e.hushed)
		}
		if e.evictable && e.ranking == nil {
			a.insert(e)
		}
	}
}

// withhold removes a replica from its ranking until it is restored.
func (a *Account) withhold(e *Entry) *Entry {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.remove(e)
	return e
}

// Leaving reports whether the replica is leaving.
func (e *Entry) Leaving() bool { return e.leaving }

// Leave records that the replica is leaving: its memory will be freed when copies have ended.
func (e *Entry) Leave() {
	e.leaving = true
	a := e.account
	a.mu.Lock()
	defer a.mu.Unlock()
	a.remove(e)
	e.evictable = false
	a.replicas--
	a.coming += e.size
	e.index = len(a.leaving)
	a.leaving = append(a.leaving, e)
}

// Stay keeps a replica that was leaving.
func (e *Entry) Stay() {
	e.leaving = false
	a := e.account
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left(e)
	a.replicas++
	e.evictable = true
	a.insert(e)
}

// left is the opposite of Leave; a.mu is held.
func (a *Account) left(e *Entry) {
	last := len(a.leaving) - 1
	a.leaving[e.index] = a.leaving[last]
	a.leaving[e.index].index = e.index
	a.leaving[last] = nil
	a.leaving = a.leaving[:last]
	a.coming -= e.size
}
