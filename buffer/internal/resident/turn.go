package resident

import (
	"context"
	"slices"
	"sync/atomic"
)

// An access that lacks memory only because of leases that end by themselves waits for them. Such leases are called brief: a call of this
// module took them, and releases them before it returns. A lease that the program holds is not brief, because the goroutine that holds it
// may be the one that waits.
//
// The calls that wait for memory of one device stand in a line, in the order of arrival. The first tries again when a lease has ended, and
// no other call takes memory meanwhile. A call that waits has no leases, so that none can wait for it. Only a launch on several devices has
// leases on others of them. Such launches do not stand in line, and could wait for each other: so one of them waits at a time, and another
// that lacks memory meanwhile fails.

// Division identifies a launch on several devices.
type Division struct{ _ byte }

// Turn is the place of a call in the line for memory of a device.
type Turn struct {
	account  *Account
	division *Division     // the launch that the call is a part of, nil for another call
	roused   bool          // memory may have come free since it looked last; guarded by account.mu
	wake     chan struct{} // has capacity 1, and something after roused was set
}

// patient is the part of a launch on several devices that may wait, nil if there is none.
var patient atomic.Pointer[Turn]

// Behind reports whether other calls wait for memory of the device, so that a call without a turn has to stand in line.
func (e *Entry) Behind() bool { return e.account.waiting.Load() > 0 }

// Queue puts a call at the end of the line for the memory that p lacks. division is nil unless the call may have leases on other devices.
func (p *Pressure) Queue(division *Division) *Turn {
	a := Of(p.Dev)
	t := &Turn{account: a, division: division, wake: make(chan struct{}, 1), roused: true} // memory may have come free before
	a.mu.Lock()
	defer a.mu.Unlock()
	a.line = append(a.line, t)
	a.waiting.Add(1)
	return t
}

// Leave takes the call out of the line, if it is there.
func (t *Turn) Leave() {
	patient.CompareAndSwap(t, nil)
	a := t.account
	a.mu.Lock()
	defer a.mu.Unlock()
	if i := slices.Index(a.line, t); i >= 0 {
		a.line = slices.Delete(a.line, i, i+1)
		a.waiting.Add(-1)
		a.stir(nil)
	}
}

// First reports whether the call may take memory.
func (t *Turn) First() bool {
	t.account.mu.Lock()
	defer t.account.mu.Unlock()
	return t.first()
}

func (t *Turn) first() bool { return t.division != nil || t.account.line[0] == t }

// Await waits until memory may have come free for the call. ok is false if no memory will, or if ctx has ended.
func (t *Turn) Await(ctx context.Context) (ok bool) {
	a := t.account
	if t.division != nil && !patient.CompareAndSwap(nil, t) && patient.Load() != t {
		return false
	}
	for {
		comes := a.comes(t.division)
		a.mu.Lock()
		first, roused := t.first(), t.roused
		t.roused = false // the first is roused again when those before it have left
		a.mu.Unlock()
		if first && (roused || !comes) {
			return roused
		}
		select {
		case <-t.wake:
		case <-ctx.Done():
			return false
		}
	}
}

// stir lets the calls that may take memory try again, except one, which may be nil. The account is locked, so that comes sees what has
// changed, or the call tries again.
func (a *Account) stir(but *Turn) {
	for _, t := range a.line {
		if t != but && t.first() {
			t.roused = true
			select {
			case t.wake <- struct{}{}:
			default:
			}
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

// fly is flight for a caller that has not locked the account.
func (a *Account) fly(more int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.flight(more)
}

// comes reports whether memory may come free: other calls allocate or make room, or a replica is in use only by brief leases, of other
// launches than but.
func (a *Account) comes(but *Division) bool {
	a.mu.Lock()
	busy := a.flights > 0
	a.watched = a.watched || busy
	parked := make([]*Entry, 0, len(a.parked))
	for e := range a.parked {
		parked = append(parked, e)
	}
	a.mu.Unlock()
	return busy || slices.ContainsFunc(parked, func(e *Entry) bool { return e.replica.Brief(but) })
}
