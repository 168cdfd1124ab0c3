package resident

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
)

// Pressure is the error of an allocation for which other replicas may have to be evicted. No call returns it to the program.
type Pressure struct {
	Dev    *hal.Device
	Need   uint64         // bytes
	Behind bool           // other calls wait for memory of the device already
	cause  error          // the error of the device or the allocator, nil if the budget is used up
	from   pool.Allocator // the allocator that failed, nil for the device itself
}

func (p *Pressure) Error() string { return "no room on " + p.Dev.Name() }

// errFull says that open accesses keep the memory that is lacking.
var errFull = errors.New("there is no room")

// IsFull reports whether an error of Relieve says that there is no room as long as open accesses keep it.
func IsFull(err error) bool { return err == errFull }

// errLater says that there will be room when copies have ended, and that the caller does not wait for them.
var errLater = errors.New("there is room later")

// Relieve makes room for a new replica of the buffer number client; op is the call that needs it. No owner of a replica is locked. It
// waits for copies under way until ctx ends, or fails if try is set. The caller then allocates again. If that fails and wait is true, work
// under way may still use memory that was freed: the caller waits for it. The error is that of ctx if ctx has ended. It satisfies IsLater if
// try was set and there will be room when copies have ended, and IsFull if open accesses keep the memory.
func (p *Pressure) Relieve(ctx context.Context, op string, client uint64, try bool) (wait bool, err error) {
	a := Of(p.Dev)
	c := Cause{op, client, "budget"}
	if p.cause != nil {
		c.Why = "out of memory"
	}
	if p.hopeless(a) {
		return false, p.Exhausted(op)
	}
	if p.cause != nil && a.trim(p.from) > 0 {
		return !try, nil // the freed memory may be enough
	}
	var refused []*Entry
	a.fly(1)
	defer a.fly(-1)
	defer func() { a.restore(refused...) }() // also if an observer panics
	freed := uint64(0)
	for {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		enough, soon, first := p.room(a, freed)
		if enough {
			break
		}
		if !soon {
			if victim := a.victim(p); victim != nil {
				refused = append(refused, victim)
				n, gone := a.evict(victim, c)
				if gone {
					refused = refused[:len(refused)-1]
				}
				freed += n
				continue
			}
		}
		if first == nil {
			if freed > 0 && p.cause != nil {
				break // try with the room that was made
			}
			return false, errFull
		}
		if try {
			return false, errLater
		}
		stays, err := first.replica.AwaitLeaving(ctx, c)
		switch {
		case err != nil:
			return false, err
		case stays:
			refused = append(refused, a.withhold(first)) // its copies would fail again
		default:
			freed += first.size
		}
	}
	if p.cause != nil {
		a.trim(p.from)
	}
	return p.cause != nil, nil
}

// evict evicts a replica that victim has returned. gone is false if it has to be restored.
func (a *Account) evict(victim *Entry, c Cause) (freed uint64, gone bool) {
	freed, written, leased, ok := victim.replica.Evict(c)
	if !ok {
		return 0, leased // the end of the lease puts it back
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.evictions++
	a.written += written
	return freed, true
}

// IsLater reports whether an error of Relieve says that there will be room when earlier work has ended.
func IsLater(err error) bool { return err == errLater }

// room reports whether there is enough room, and whether there soon will be without another eviction. first is the leaving
// replica to wait for, nil if none is leaving.
func (p *Pressure) room(a *Account, freed uint64) (enough, soon bool, first *Entry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.leaving) > 0 {
		first = a.leaving[0]
	}
	if p.cause != nil {
		return freed >= p.Need, freed+a.coming >= p.Need, first
	}
	fits := func(used uint64) bool { return a.budget == 0 || used <= a.budget && p.Need <= a.budget-used }
	return fits(a.used), fits(a.used - a.coming), first
}

// hopeless reports whether the eviction of all replicas would not be enough.
func (p *Pressure) hopeless(a *Account) bool {
	if p.cause == nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.budget != 0 && p.Need > a.budget
	}
	for err := p.cause; err != nil; err = errors.Unwrap(err) {
		if e, ok := err.(*hal.Error); ok && e.Shortage != nil {
			return e.Shortage.FreeKnown && p.Need > e.Shortage.Total
		}
	}
	return false
}

// Exhausted is the error of a call for which there is no room. It says what uses the memory.
func (p *Pressure) Exhausted(op string) error {
	if p.cause != nil {
		return p.cause
	}
	a := Of(p.Dev)
	a.mu.Lock()
	defer a.mu.Unlock()
	detail := fmt.Sprintf("the buffer needs %d bytes on %s; its budget is %d", p.Need, p.Dev.Name(), a.budget)
	if kept := a.used - a.coming; kept > 0 {
		detail += fmt.Sprintf(", and %d replicas that cannot be evicted now have %d bytes", a.replicas, kept)
	}
	if a.coming > 0 {
		detail += fmt.Sprintf(", and %d bytes are not free until the copies of evicted replicas have ended", a.coming)
	}
	return &hal.Error{Op: op, Device: -1, Kind: hal.ErrOutOfMemory, Detail: detail}
}
