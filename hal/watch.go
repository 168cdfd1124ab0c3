package hal

import (
	"sync"
	"sync/atomic"
	"time"
)

// watch waits for a device's marks on behalf of all goroutines that need them. At most watchBlocked waits block in a driver
// call, because each may cost a thread; all other marks are polled. A mark is watched once, however many wait for it.
type watch struct {
	blocked atomic.Int32 // driver calls that block now

	mu      sync.Mutex
	marks   []*Mark // polled; the list holds a reference to each
	blocks  int     // goroutines in block
	asking  bool    // tick is polling the marks
	timer   *time.Timer
	pause   time.Duration // before the next poll, at least
	took    time.Duration // duration of the last poll
	changed signal
}

// watching says how a mark is watched.
type watching uint8

const (
	unwatched watching = iota
	inTurn             // polled, on the watch's list
	blocking           // a goroutine blocks until the work is done
)

// watchBlocked is the number of waits per device that may block in driver calls at once.
const watchBlocked = 4

const (
	pollSoonest = 20 * time.Microsecond
	pollLatest  = 2 * time.Millisecond
	pollBatch   = 64 // marks
	pollShare   = 3  // a pause lasts at least this many times as long as the last poll
)

func (w *watch) init() {
	w.timer = time.AfterFunc(time.Hour, w.tick)
	w.timer.Stop()
}

// sit reports whether one more driver call may block; if so, it is counted until rise.
func (w *watch) sit() bool {
	if w.blocked.Add(1) > watchBlocked {
		w.blocked.Add(-1)
		return false
	}
	return true
}

func (w *watch) rise() { w.blocked.Add(-1) }

// inline waits for m in a driver call on the caller's goroutine. It reports false, without waiting, if another goroutine
// already blocks for m or too many calls block.
func (w *watch) inline(m *Mark) bool {
	if !w.sit() {
		return false
	}
	defer w.rise()
	if !m.dev.asks.enter() {
		return false
	}
	defer m.dev.asks.leave()
	m.mu.Lock()
	was := m.watched
	if was == blocking {
		m.mu.Unlock()
		return false
	}
	if was == inTurn {
		w.strike(m)
	}
	m.watched = blocking
	m.mu.Unlock()
	m.settle(waited(m.drv))
	m.mu.Lock()
	m.watched = unwatched
	if len(m.fns) > 0 {
		w.poll(m)
	}
	m.mu.Unlock()
	if was == inTurn {
		m.Release() // the list's
	}
	return true
}

// add has m watched, if it is not; m.mu is held.
func (w *watch) add(m *Mark) {
	if m.watched != unwatched {
		return
	}
	m.Retain()
	if !w.start(m) {
		w.enlist(m)
	}
}

// poll has m polled, if it is not watched; m.mu is held.
func (w *watch) poll(m *Mark) {
	if m.watched == unwatched {
		m.Retain()
		w.enlist(m)
	}
}

// start starts a goroutine that blocks for m and takes over the caller's reference. It reports false if no more calls may
// block. m.mu is held.
func (w *watch) start(m *Mark) bool {
	if m.known() || !w.sit() {
		return false
	}
	if !m.dev.asks.enter() {
		w.rise()
		return false
	}
	m.watched = blocking
	w.mu.Lock()
	w.blocks++
	w.mu.Unlock()
	go w.block(m)
	return true
}

// block waits for m in a driver call.
func (w *watch) block(m *Mark) {
	err := waited(m.drv)
	w.rise()
	m.settle(err)
	m.mu.Lock()
	m.watched = unwatched
	fns := m.fns
	m.fns = nil
	m.mu.Unlock()
	m.dev.asks.leave()
	m.tell(fns)
	w.mu.Lock()
	w.blocks--
	w.changed.broadcast()
	w.mu.Unlock()
}

// tell ends a watch: it calls fns and drops the watch's reference.
func (m *Mark) tell(fns []func(error)) {
	for _, fn := range fns {
		fn(m.err)
	}
	m.Release()
}

// enlist puts m on the list of polled marks, which takes over the caller's reference; m.mu is held.
func (w *watch) enlist(m *Mark) {
	m.watched = inTurn
	w.mu.Lock()
	defer w.mu.Unlock()
	m.polled = len(w.marks)
	w.marks = append(w.marks, m)
	if !w.asking && (len(w.marks) == 1 || w.pause > pollSoonest) {
		w.pause = pollSoonest
		w.set()
	}
}

// set sets the timer. The longer the last poll took, the longer the pause. w.mu is held.
func (w *watch) set() { w.timer.Reset(max(w.pause, pollShare*w.took)) }

// strike removes m from the list and hands the list's reference to the caller; m.mu is held.
func (w *watch) strike(m *Mark) {
	m.watched = unwatched
	w.mu.Lock()
	n := len(w.marks) - 1
	last := w.marks[n]
	w.marks[m.polled] = last
	last.polled = m.polled
	w.marks[n] = nil
	w.marks = w.marks[:n]
	if n == 0 {
		w.timer.Stop()
	}
	w.mu.Unlock()
}

// unused removes m from the list if nothing waits for it any more, and reports whether it did; m.mu is held.
func (w *watch) unused(m *Mark) bool {
	if m.watched != inTurn || m.waiters > 0 || len(m.gates) > 0 || len(m.fns) > 0 {
		return false
	}
	w.strike(m)
	return true
}

// tick polls all marks, and sets the timer again if any are left.
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
	w.mu.Lock()
	w.asking = false
	w.changed.broadcast()
	w.took = time.Since(start)
	if ended > 0 {
		w.pause = pollSoonest
	} else {
		w.pause = min(2*w.pause, pollLatest)
	}
	if len(w.marks) > 0 {
		w.set()
	}
	w.mu.Unlock()
}

// sweep polls each mark and returns how many were done. It goes backwards: when a mark is removed, the last one of the list
// takes its place, and that one has already been polled or is new.
func (w *watch) sweep() (ended int) {
	var batch [pollBatch]*Mark
	w.mu.Lock()
	defer w.mu.Unlock()
	for hi := len(w.marks); hi > 0; {
		hi = min(hi, len(w.marks))
		lo := max(hi-pollBatch, 0)
		n := copy(batch[:], w.marks[lo:hi])
		for _, m := range batch[:n] {
			m.Retain()
		}
		w.mu.Unlock()
		for _, m := range batch[:n] {
			ended += w.ask(m)
			m.Release()
		}
		hi = lo
		w.mu.Lock()
	}
	return ended
}

// ask polls m: if its work is done, it ends the watch and returns 1. If not, and another call may block, a goroutine
// blocks for m from here on.
func (w *watch) ask(m *Mark) int {
	done, _ := m.Done()
	if !done && w.blocked.Load() >= watchBlocked {
		return 0
	}
	m.mu.Lock()
	if m.watched != inTurn {
		m.mu.Unlock()
		return 0
	}
	if !done {
		w.strike(m)
		if !w.start(m) {
			w.enlist(m)
		}
		m.mu.Unlock()
		return 0
	}
	w.strike(m)
	fns := m.fns
	m.fns = nil
	m.mu.Unlock()
	m.tell(fns)
	return 1
}

// drain ends all watches. The results of all marks are already known.
func (w *watch) drain() {
	for {
		w.sweep()
		w.mu.Lock()
		if len(w.marks) == 0 && !w.asking && w.blocks == 0 {
			w.mu.Unlock()
			return
		}
		changed := w.changed.next()
		w.mu.Unlock()
		<-changed
	}
}

// asking counts the driver calls on marks' events, which must end before the device is closed.
type asking struct {
	handle
	left latch
}

func (a *asking) leave() {
	if a.handle.leave() {
		a.left.open()
	}
}

// shut waits for the calls under way and refuses new ones.
func (a *asking) shut() {
	if _, none := a.close(); !none {
		a.left.wait()
	}
}
