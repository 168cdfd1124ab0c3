// Package nap spends the time between two questions to a library that cannot tell when it is done.
package nap

import (
	"context"
	"runtime"
	"time"
)

const (
	often = 64               // every 64th question lets other goroutines run, not each: that wakes an idle thread of Go, which finds nothing to do
	eager = 50               // how often the library is asked before the processor is offered to other processes
	awake = time.Millisecond // how long it is asked without a sleep
	// a sleep is this part of the time that has been waited, so it makes an answer late by less than two percent
	part    = 64
	longest = time.Millisecond      // of one sleep
	least   = 10 * time.Microsecond // the system makes it longer by about 50 µs
)

// Waiter waits for one answer. A machine may run more ranks than it has processors, so one that waits has to leave its processor to the
// others.
type Waiter struct {
	asked int
	start time.Time
}

// Rest passes some time, and reports whether ctx has ended.
func (w *Waiter) Rest(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return true
	default:
	}
	if w.asked++; w.asked == 1 {
		w.start = time.Now()
	}
	if w.asked%often == 0 {
		others()
	}
	if w.asked <= eager {
		return false
	}
	now := time.Now()
	waited := now.Sub(w.start)
	if d := Length(waited); waited < awake {
		yield()
	} else if end, ok := ctx.Deadline(); ok {
		For(min(d, max(end.Sub(now), 0)))
	} else {
		For(d)
	}
	return false
}

// Length is the length of the next sleep after a time that has been waited.
func Length(waited time.Duration) time.Duration {
	return min(max(waited/part, least), longest)
}

// Since is how long the wait has taken, 0 before the first Rest.
func (w *Waiter) Since() time.Duration {
	if w.start.IsZero() {
		return 0
	}
	return time.Since(w.start)
}

// For sleeps for d. On Linux a sleep of less than a millisecond is a call of nanosleep: time.Sleep would take a whole millisecond where no
// other goroutine runs, because the scheduler then waits in epoll, which counts in milliseconds.
func For(d time.Duration) {
	if d < time.Millisecond {
		short(d)
		return
	}
	time.Sleep(d)
}

// A test counts their calls.
var (
	short  = brief
	others = runtime.Gosched
)
