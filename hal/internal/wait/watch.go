package wait

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-halyard/halyard/hal/internal/life"
)

// watch waits for a device's events on behalf of all goroutines that need them. At most watchBlocked waits block in a driver
// call, because each may cost a thread; all other events are polled. When a blocked wait ends, a goroutine blocks for the event that
// has been polled longest. Events of a chain of copies end in the order in which they were recorded, so that is the next event to end,
// and its end is seen without a wait for the next poll. An event is watched once, however many goroutines wait for it.
type watch struct {
	blocked atomic.Int32 // driver calls that block now
	ceded   atomic.Int64 // when cede let the scheduler run last

	mu       sync.Mutex
	events   []*Event // polled, the oldest first, nil where one was removed; the list holds a reference to each
	first    int      // index before which events has only nil
	live     int      // events that are not nil
	blockers int      // goroutines in block
	asking   bool     // tick is polling the events
	timer    *time.Timer
	pause    time.Duration // the shortest pause before the next poll
	took     time.Duration // duration of the last poll
	changed  life.Signal
}

// watching says how an event is watched.
type watching uint8

const (
	unwatched watching = iota
	inTurn             // polled, on the watch's list
	blocking           // a goroutine blocks until the work is done
)

// watchBlocked is the number of waits per device that may block in driver calls at once.
const watchBlocked = 4

const ceding = 5 * time.Millisecond // see cede

const (
	pollSoonest = 20 * time.Microsecond
	pollLatest  = 2 * time.Millisecond
	pollBatch   = 64 // events
	pollShare   = 3  // a pause lasts at least this many times as long as the last poll
)

func (w *watch) init() {
	w.timer = time.AfterFunc(time.Hour, w.tick)
	w.timer.Stop()
}

// reserveWait reports whether one more driver call may block; if so, it is counted until releaseWait.
func (w *watch) reserveWait() bool {
	if w.blocked.Add(1) > watchBlocked {
		w.blocked.Add(-1)
		return false
	}
	return true
}

func (w *watch) releaseWait() { w.blocked.Add(-1) }

// inline waits for e in a driver call on the caller's goroutine. It reports false, without waiting, if another goroutine
// already blocks for e or too many calls block.
func (w *watch) inline(e *Event) bool {
	if !w.reserveWait() {
		return false
	}
	defer w.promoteOldest()
	defer w.releaseWait()
	if !e.dev.calls.Enter() {
		return false
	}
	defer e.dev.calls.Leave()
	e.mu.Lock()
	was := e.watched
	if was == blocking || e.unwaitable {
		e.mu.Unlock()
		return false
	}
	if was == inTurn {
		w.strike(e)
	}
	e.watched = blocking
	e.mu.Unlock()
	w.cede()
	over := e.block()
	e.mu.Lock()
	e.watched = unwatched
	e.unwaitable = !over
	if !over || len(e.fns) > 0 {
		w.poll(e)
	}
	e.mu.Unlock()
	if was == inTurn {
		e.Release() // the list's reference
	}
	return over
}

// cede lets Go's scheduler run once in a while. From a goroutine that has run for 10 ms without that, Go's monitor takes the processor in
// each call of a driver, sleeps because no other has work, and is woken when the call returns: two wake-ups a wait.
func (w *watch) cede() {
	now := time.Now().UnixNano()
	if last := w.ceded.Load(); now-last > int64(ceding) && w.ceded.CompareAndSwap(last, now) {
		runtime.Gosched()
	}
}

// add makes the watch wait for e, unless it already does; e.mu is held.
func (w *watch) add(e *Event) {
	if e.watched != unwatched {
		return
	}
	e.Retain()
	if !w.start(e) {
		w.enlist(e)
	}
}

// poll makes the watch poll e, unless e is already watched; e.mu is held.
func (w *watch) poll(e *Event) {
	if e.watched == unwatched {
		e.Retain()
		w.enlist(e)
	}
}

// start starts a goroutine that blocks for e and takes over the caller's reference. It reports false if no more calls may
// block. e.mu is held.
func (w *watch) start(e *Event) bool {
	if e.Known() || e.unwaitable || !w.reserveWait() {
		return false
	}
	if !e.dev.calls.Enter() {
		w.releaseWait()
		return false
	}
	w.goBlock(e)
	return true
}

// promote moves e from the list of polled events to a goroutine that blocks for it. reserveWait has allowed the caller one more blocked
// call. If promote reports false, e is unchanged and the allowance is given back. e.mu is held.
func (w *watch) promote(e *Event) bool {
	if e.watched != inTurn || e.Known() || e.unwaitable || !e.dev.calls.Enter() {
		w.releaseWait()
		return false
	}
	w.strike(e)
	w.goBlock(e)
	return true
}

// goBlock starts the goroutine that blocks for e; e.mu is held.
func (w *watch) goBlock(e *Event) {
	e.watched = blocking
	w.mu.Lock()
	w.blockers++
	w.mu.Unlock()
	go w.block(e)
}

// block waits for e in a driver call. If that fails, the event is polled.
func (w *watch) block(e *Event) {
	over := e.block()
	w.releaseWait()
	e.mu.Lock()
	e.watched = unwatched
	var fns []func(error)
	if over {
		fns, e.fns = e.fns, nil
	} else {
		e.unwaitable = true
		w.enlist(e)
	}
	e.mu.Unlock()
	e.dev.calls.Leave()
	if over {
		e.endWatch(fns)
	}
	w.promoteOldest()
	w.mu.Lock()
	w.soon()
	w.blockers--
	w.changed.Broadcast()
	w.mu.Unlock()
}

// promoteOldest starts goroutines that block for the events that have been polled longest, as many as reserveWait allows.
func (w *watch) promoteOldest() {
	for w.reserveWait() {
		w.mu.Lock()
		e := w.oldest()
		if e == nil {
			w.mu.Unlock()
			w.releaseWait()
			return
		}
		e.Retain()
		w.mu.Unlock()
		e.mu.Lock()
		started := w.promote(e)
		e.mu.Unlock()
		e.Release()
		if !started {
			return
		}
	}
}

// soon makes the pauses between polls short again: when one event has ended, another may end soon. w.mu is held.
func (w *watch) soon() {
	if w.live > 0 && !w.asking && w.pause > pollSoonest {
		w.pause = pollSoonest
		w.set()
	}
}

// oldest returns the event that has been on the list longest, or nil; w.mu is held.
func (w *watch) oldest() *Event {
	for ; w.first < len(w.events); w.first++ {
		if e := w.events[w.first]; e != nil {
			return e
		}
	}
	return nil
}

// compact removes the nil entries from the list, if there are many more of them than events; w.mu is held.
func (w *watch) compact() {
	if len(w.events) <= 2*w.live+pollBatch {
		return
	}
	to := 0
	for _, e := range w.events {
		if e != nil {
			w.events[to], e.polled = e, to
			to++
		}
	}
	clear(w.events[to:])
	w.events, w.first = w.events[:to], 0
}

// endWatch calls fns and drops the watch's reference.
func (e *Event) endWatch(fns []func(error)) {
	for _, fn := range fns {
		fn(e.err)
	}
	e.Release()
}

// enlist puts e on the list of polled events, which takes over the caller's reference; e.mu is held.
func (w *watch) enlist(e *Event) {
	e.watched = inTurn
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.asking {
		w.compact()
	}
	e.polled = len(w.events)
	w.events = append(w.events, e)
	w.live++
	if !w.asking && (w.live == 1 || w.pause > pollSoonest) {
		w.pause = pollSoonest
		w.set()
	}
}

// set sets the timer. The longer the last poll took, the longer the pause. w.mu is held.
func (w *watch) set() { w.timer.Reset(max(w.pause, pollShare*w.took)) }

// strike removes e from the list and hands the list's reference to the caller; e.mu is held.
func (w *watch) strike(e *Event) {
	e.watched = unwatched
	w.mu.Lock()
	w.events[e.polled] = nil
	w.live--
	if w.live == 0 {
		w.timer.Stop()
	}
	w.mu.Unlock()
}

// unused removes e from the list if nothing waits for it any more, and reports whether it did; e.mu is held.
func (w *watch) unused(e *Event) bool {
	if e.watched != inTurn || e.waiters > 0 || len(e.bridges) > 0 || len(e.fns) > 0 {
		return false
	}
	w.strike(e)
	return true
}

// tick polls all events, and sets the timer again if any are left.
func (w *watch) tick() {
	w.mu.Lock()
	if w.asking {
		w.mu.Unlock()
		return
	}
	w.asking = true
	w.mu.Unlock()
	start := time.Now()
	ended := w.sweep()
	w.promoteOldest()
	w.mu.Lock()
	w.asking = false
	w.changed.Broadcast()
	w.took = time.Since(start)
	if ended > 0 {
		w.pause = pollSoonest
	} else {
		w.pause = min(2*w.pause, pollLatest)
	}
	w.compact()
	if w.live > 0 {
		w.set()
	}
	w.mu.Unlock()
}

// sweep polls each event that is on the list now, the oldest first, and returns how many were done.
func (w *watch) sweep() (ended int) {
	var batch [pollBatch]*Event
	w.mu.Lock()
	defer w.mu.Unlock()
	for at, end := 0, len(w.events); at < min(end, len(w.events)); {
		n := 0
		for ; n < len(batch) && at < min(end, len(w.events)); at++ {
			if e := w.events[at]; e != nil {
				e.Retain()
				batch[n] = e
				n++
			}
		}
		w.mu.Unlock()
		for _, e := range batch[:n] {
			ended += w.check(e)
			e.Release()
		}
		w.mu.Lock()
	}
	return ended
}

// check polls e: if its work is done, it ends the watch and returns 1.
func (w *watch) check(e *Event) int {
	if done, _ := e.Done(); !done {
		return 0
	}
	e.mu.Lock()
	if e.watched != inTurn {
		e.mu.Unlock()
		return 0
	}
	w.strike(e)
	fns := e.fns
	e.fns = nil
	e.mu.Unlock()
	e.endWatch(fns)
	return 1
}

// drain ends all watches. The results of all events are already known.
func (w *watch) drain() {
	for {
		w.sweep()
		w.mu.Lock()
		if w.live == 0 && !w.asking && w.blockers == 0 {
			w.mu.Unlock()
			return
		}
		changed := w.changed.Next()
		w.mu.Unlock()
		<-changed
	}
}
