package resident

import (
	"context"
	"slices"
	"sync"
)

// An access that lacks memory only because of leases that end by themselves waits for them. Such leases are called brief: a call of this
// module took them, and releases them before it returns. A lease that the program holds is not brief, because the goroutine that holds it
// may be the one that waits.
//
// The calls that wait for memory of one device stand in a line, in the order of arrival. The first tries again when a lease has ended, and
// no other call takes memory meanwhile. A call that waits has no leases, so that none can wait for it. Only a launch on several devices has
// leases on others of them. Such calls do not stand in line, and can wait for each other: then the newest fails.

// Holder is a call that may have brief leases.
type Holder struct {
	turn *Turn // that it waits for now, or nil; guarded by turns
}

// Turn is the place of a call in the line for memory of a device.
type Turn struct {
	account *Account
	holder  *Holder
	holds   bool // the call has leases on other devices
	seq     uint64
	tries   bool          // it does not wait now
	busy    bool          // other calls allocated or made room when it looked
	roused  bool          // memory may have come free since it looked last
	wake    chan struct{} // has capacity 1, and something after roused was set
	on      [][]*Holder   // of each replica that comes free: the calls whose leases have to end first
	failed  bool          // it was the newest of calls that were stuck
}

// turns guards every Turn, and the line of each Account. No other lock is taken while it is held.
var turns struct {
	sync.Mutex
	seq uint64
}

// Behind reports whether other calls wait for memory of the device, so that a call without a turn has to stand in line.
func (e *Entry) Behind() bool { return e.account.waiting.Load() > 0 }

// Queue puts a call at the end of the line for the memory that p lacks. holder is nil unless the call may have leases on other devices.
func (p *Pressure) Queue(holder *Holder) *Turn {
	t := &Turn{account: Of(p.Dev), holder: holder, holds: holder != nil, wake: make(chan struct{}, 1)}
	if holder == nil {
		t.holder = new(Holder)
	}
	t.roused = true // memory may have come free before it stood in line
	turns.Lock()
	defer turns.Unlock()
	turns.seq++
	t.seq, t.holder.turn = turns.seq, t
	t.account.line = append(t.account.line, t)
	t.account.waiting.Add(1)
	return t
}

// Leave takes the call out of the line, if it is there.
func (t *Turn) Leave() {
	turns.Lock()
	defer turns.Unlock()
	if i := slices.Index(t.account.line, t); i >= 0 {
		t.holder.turn = nil
		t.account.line = slices.Delete(t.account.line, i, i+1)
		t.account.waiting.Add(-1)
		t.account.wake(nil)
	}
}

// First reports whether the call may take memory.
func (t *Turn) First() bool { return t.look(nil) }

func (t *Turn) mayTake() bool { return t.holds || t.account.line[0] == t }

// Await waits until memory may have come free for the call. ok is false if no memory will, or if ctx has ended.
func (t *Turn) Await(ctx context.Context) (ok bool) {
	t.look(func() { t.tries = false })
	defer t.look(func() { t.tries = true })
	for {
		on, busy := t.account.held(t.holder)
		failed := false
		t.look(func() {
			if t.roused && t.mayTake() {
				t.roused, t.failed, t.tries, ok = false, false, true, true
				return
			}
			t.roused, t.on, t.busy = false, on, busy
			seen := map[*Turn]bool{}
			if !t.goesOn(seen) {
				newest := t
				for o, goesOn := range seen {
					if !goesOn && o.seq > newest.seq {
						newest = o
					}
				}
				newest.failed = true
				newest.rouse()
			}
			failed = t.failed
		})
		if ok || failed {
			return ok
		}
		select {
		case <-t.wake:
		case <-ctx.Done():
			return false
		}
	}
}

// look calls fn, unless it is nil, and reports whether the call may take memory.
func (t *Turn) look(fn func()) bool {
	turns.Lock()
	defer turns.Unlock()
	if fn != nil {
		fn()
	}
	return t.mayTake()
}

// goesOn reports whether the call can go on when calls that do not wait have ended. seen has the results of this search.
func (t *Turn) goesOn(seen map[*Turn]bool) bool {
	if known, ok := seen[t]; ok {
		return known
	}
	if seen[t] = t.tries || t.roused || t.busy; seen[t] {
		return true
	}
	if !t.mayTake() {
		seen[t] = t.account.line[0].goesOn(seen)
		return seen[t]
	}
	seen[t] = slices.ContainsFunc(t.on, func(holders []*Holder) bool {
		return !slices.ContainsFunc(holders, func(h *Holder) bool { return h.turn != nil && !h.turn.goesOn(seen) })
	})
	return seen[t]
}

func (t *Turn) rouse() {
	t.roused = true
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// stir lets the calls that may take memory try again, but for one, which may be nil. The account is locked, so that held sees what has
// changed, or the call tries again.
func (a *Account) stir(but *Turn) {
	if a.waiting.Load() == 0 {
		return
	}
	turns.Lock()
	defer turns.Unlock()
	a.wake(but)
}

// wake is stir with turns locked.
func (a *Account) wake(but *Turn) {
	for _, t := range a.line {
		if t != but && t.mayTake() {
			t.rouse()
		}
	}
}

// flight counts the calls that allocate or make room: what they have taken is in no ranking, and not parked yet. a.mu is held.
func (a *Account) flight(more int) {
	if a.flights += more; a.flights == 0 && a.watched {
		a.watched = false
		a.stir(nil)
	}
}

// held returns, for each replica that is in use only by brief leases of other calls than but, whose these are. busy says that other calls
// allocate or make room.
func (a *Account) held(but *Holder) (on [][]*Holder, busy bool) {
	a.mu.Lock()
	busy = a.flights > 0
	a.watched = a.watched || busy
	parked := make([]*Entry, 0, len(a.parked))
	for e := range a.parked {
		parked = append(parked, e)
	}
	a.mu.Unlock()
	for _, e := range parked {
		if holders := e.replica.Holders(); len(holders) > 0 && !slices.Contains(holders, nil) && !slices.Contains(holders, but) {
			on = append(on, holders)
		}
	}
	return on, busy
}
