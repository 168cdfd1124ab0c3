package life

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Reaper gives back objects that were closed while work still used them. It polls instead of
// waiting, so that a stream behind a shut gate delays only its own objects, and runs a
// goroutine only while there are objects to give back.
type Reaper struct {
	mu      sync.Mutex
	changed Signal
	items   []reaped
	running bool

	slow     []func() // functions that may block; runSlow calls one after the other
	slowRuns bool     // runSlow is running

	outside  int           // functions run by Apart, and latches given to Await
	sweeping int           // sweeps under way
	asked    int           // items that these sweeps have taken out of items
	finished atomic.Uint64 // items finished so far
}

// reaped is an item of the reaper: finish is called once, after ready has returned true.
type reaped struct {
	ready  func() bool
	finish func()
	slow   bool // finish may block
}

const (
	reaperSoonest = 20 * time.Microsecond
	reaperLatest  = 2 * time.Millisecond
)

// Add has finish called once ready returns true. finish does not block.
func (r *Reaper) Add(ready func() bool, finish func()) { r.put(reaped{ready: ready, finish: finish}) }

// AddSlow is Add for a finish that may block.
func (r *Reaper) AddSlow(ready func() bool, finish func()) {
	r.put(reaped{ready: ready, finish: finish, slow: true})
}

func (r *Reaper) put(it reaped) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.items = append(r.items, it)
	if !r.running {
		r.running = true
		go r.run()
	}
}

func (r *Reaper) run() {
	pause := reaperSoonest
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		<-timer.C
		n := r.Sweep()
		r.mu.Lock()
		if len(r.items) == 0 && r.sweeping == 0 {
			r.running = false
			r.changed.Broadcast()
			r.mu.Unlock()
			return
		}
		r.mu.Unlock()
		if n > 0 {
			pause = reaperSoonest
		} else {
			pause = min(2*pause, reaperLatest)
		}
		timer.Reset(pause)
	}
}

// Sweep finishes the items that are ready and returns their number.
func (r *Reaper) Sweep() int {
	r.mu.Lock()
	items := r.items
	r.items = nil
	r.sweeping++
	r.asked += len(items)
	r.mu.Unlock()
	n, left := 0, len(items)
	kept := items[:0]
	for _, it := range items {
		switch {
		case !it.ready():
			kept = append(kept, it)
		case it.slow:
			r.later(it.finish)
			left--
		default:
			it.finish()
			n++
		}
	}
	clear(items[len(kept):])
	r.mu.Lock()
	r.items = append(kept, r.items...)
	r.sweeping--
	r.asked -= left
	r.finished.Add(uint64(n))
	r.changed.Broadcast()
	r.mu.Unlock()
	return n
}

// later has runSlow call finish, which may block.
func (r *Reaper) later(finish func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.slow = append(r.slow, finish)
	r.asked--
	if !r.slowRuns {
		r.slowRuns = true
		go r.runSlow()
	}
}

func (r *Reaper) runSlow() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.slow) > 0 {
		finish := r.slow[0]
		r.mu.Unlock()
		finish()
		r.mu.Lock()
		r.slow[0] = nil
		r.slow = r.slow[1:]
		r.finished.Add(1)
	}
	r.slow, r.slowRuns = nil, false
	r.changed.Broadcast()
}

// Count is the number of items finished so far.
func (r *Reaper) Count() uint64 { return r.finished.Load() }

// Collect finishes the items that are ready, waits for other sweeps under way, and reports whether any item
// has been finished since the count was taken.
func (r *Reaper) Collect(since uint64) bool {
	r.Sweep()
	_ = r.until(context.Background(), func() bool { return r.sweeping == 0 && !r.slowRuns })
	return r.finished.Load() != since
}

// Apart runs fn, a function of the program that may do anything, on a new goroutine, and counts it as pending
// until it returns.
func (r *Reaper) Apart(fn func()) {
	done := r.pend()
	go func() {
		fn()
		done()
	}()
}

// Await counts a closed object that cannot be finished yet as pending until the latch is open.
func (r *Reaper) Await(l *Latch) { l.Then(r.pend()) }

// pend counts one more as pending until done is called.
func (r *Reaper) pend() (done func()) {
	r.mu.Lock()
	r.outside++
	r.mu.Unlock()
	return func() {
		r.mu.Lock()
		r.outside--
		r.changed.Broadcast()
		r.mu.Unlock()
	}
}

// Pending returns the number of closed objects that have not been given back.
func (r *Reaper) Pending() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pending()
}

// pending is Pending with r.mu held.
func (r *Reaper) pending() int { return len(r.items) + r.asked + len(r.slow) + r.outside }

// Wait waits until everything has been given back, or ctx ends.
func (r *Reaper) Wait(ctx context.Context) error {
	return r.until(ctx, func() bool { return r.pending() == 0 && !r.slowRuns })
}

// Drain waits until everything has been given back and nothing runs any more.
func (r *Reaper) Drain() {
	_ = r.until(context.Background(), func() bool { return r.pending() == 0 && !r.slowRuns && !r.running })
}

// until waits until so returns true, or until ctx ends. so is called with r.mu held.
func (r *Reaper) until(ctx context.Context, so func() bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !so() {
		changed := r.changed.Next()
		r.mu.Unlock()
		select {
		case <-changed:
			r.mu.Lock()
		case <-ctx.Done():
			r.mu.Lock()
			return ctx.Err()
		}
	}
	return nil
}
