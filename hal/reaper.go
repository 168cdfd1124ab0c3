package hal

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// reaper gives back objects that were closed while work still used them. It polls instead of
// waiting, so that a stream behind a shut gate delays only its own objects, and runs a
// goroutine only while there are objects to give back.
type reaper struct {
	mu      sync.Mutex
	changed signal
	items   []reaped
	running bool

	slow  []func() // functions that may wait for other work; runSlow calls one after the other
	slows bool     // runSlow is running

	outside  int           // functions run by apart, and latches given to await
	sweeping int           // sweeps under way
	asked    int           // items that these sweeps hold
	finished atomic.Uint64 // items finished so far
}

type reaped struct {
	ready  func() bool
	finish func()
	slow   bool // finish may wait for other work
}

const (
	reaperSoonest = 20 * time.Microsecond
	reaperLatest  = 2 * time.Millisecond
)

func (r *reaper) add(ready func() bool, finish func()) { r.put(reaped{ready: ready, finish: finish}) }

func (r *reaper) put(it reaped) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.items = append(r.items, it)
	if !r.running {
		r.running = true
		go r.run()
	}
}

func (r *reaper) run() {
	pause := reaperSoonest
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		<-timer.C
		n := r.sweep()
		r.mu.Lock()
		if len(r.items) == 0 && r.sweeping == 0 {
			r.running = false
			r.changed.broadcast()
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

// sweep finishes the items that are ready and returns their number.
func (r *reaper) sweep() int {
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
	r.changed.broadcast()
	r.mu.Unlock()
	return n
}

// later has runSlow call finish, which may wait for other work.
func (r *reaper) later(finish func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.slow = append(r.slow, finish)
	r.asked--
	if !r.slows {
		r.slows = true
		go r.runSlow()
	}
}

func (r *reaper) runSlow() {
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
	r.slow, r.slows = nil, false
	r.changed.broadcast()
}

// count is the number of items finished so far.
func (r *reaper) count() uint64 { return r.finished.Load() }

// collect finishes the items that are ready, waits for other sweeps under way, and reports whether any item
// has been finished since the count was taken.
func (r *reaper) collect(since uint64) bool {
	r.sweep()
	_ = r.until(context.Background(), func() bool { return r.sweeping == 0 && !r.slows })
	return r.finished.Load() != since
}

// apart runs fn, a function of the program that may do anything, on a new goroutine, and counts it as pending
// until it returns.
func (r *reaper) apart(fn func()) {
	r.mu.Lock()
	r.outside++
	r.mu.Unlock()
	go func() {
		fn()
		r.mu.Lock()
		r.outside--
		r.changed.broadcast()
		r.mu.Unlock()
	}()
}

// await counts a closed object that cannot be finished yet as pending until the latch is open.
func (r *reaper) await(l *latch) {
	r.mu.Lock()
	r.outside++
	r.mu.Unlock()
	l.then(func() {
		r.mu.Lock()
		r.outside--
		r.changed.broadcast()
		r.mu.Unlock()
	})
}

func (r *reaper) pending() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closed()
}

// closed returns the number of closed objects that have not been given back; r.mu is held.
func (r *reaper) closed() int { return len(r.items) + r.asked + len(r.slow) + r.outside }

// settle waits until everything has been given back, or ctx ends.
func (r *reaper) settle(ctx context.Context) error {
	return r.until(ctx, func() bool { return r.closed() == 0 && !r.slows })
}

// drain waits until everything has been given back and nothing runs any more.
func (r *reaper) drain() {
	_ = r.until(context.Background(), func() bool { return r.closed() == 0 && !r.slows && !r.running })
}

// until waits until so returns true, or until ctx ends. so is called with r.mu held.
func (r *reaper) until(ctx context.Context, so func() bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !so() {
		changed := r.changed.next()
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
