package hal

import (
	"sync"
	"sync/atomic"
	"time"
)

// watch waits for marks of a device on behalf of all who wait for their work. Few of these waits block in the driver's
// calls, for each may cost a thread; the other marks are asked in turn. A mark is watched once, however many wait for it.
type watch struct {
	blocked atomic.Int32 // calls of the driver's that block

	mu      sync.Mutex
	marks   []*Mark // that are asked in turn, with a reference for each
	blocks  int     // goroutines of the watch's own that block
	asking  bool    // the timer's goroutine asks the marks
	timer   *time.Timer
	pause   time.Duration // that the timer was set to, at least
	took    time.Duration // to ask all marks
	changed signal
}

// watching says who waits for a mark.
type watching uint8

const (
	unwatched watching = iota
	inTurn             // it is on the watch's list
	blocking           // a goroutine blocks until the work is done
)

// watchBlocked is how many waits of a device block in the driver's calls at once.
const watchBlocked = 4

const (
	pollSoonest = 20 * time.Microsecond
	pollLatest  = 2 * time.Millisecond
	pollBatch   = 64 // marks
	pollShare   = 3  // pauses are this many times as long as it takes to ask all
)

func (w *watch) init() {
	w.timer = time.AfterFunc(time.Hour, w.tick)
	w.timer.Stop()
}

// sit reports whether one more call of the driver's may block, and counts it until rise.
func (w *watch) sit() bool {
	if w.blocked.Add(1) > watchBlocked {
		w.blocked.Add(-1)
		return false
	}
	return true
}

func (w *watch) rise() { w.blocked.Add(-1) }

// inline waits for m in the driver's call, on the caller's goroutine, and reports whether it has: not if others wait for m, or too
// many calls block.
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

// add sees to it that m is watched; m.mu is held.
func (w *watch) add(m *Mark) {
	if m.watched != unwatched {
		return
	}
	m.Retain()
	if !w.start(m) {
		w.enlist(m)
	}
}

// poll has m asked in turn, if nobody watches it; m.mu is held.
func (w *watch) poll(m *Mark) {
	if m.watched == unwatched {
		m.Retain()
		w.enlist(m)
	}
}

// start has a goroutine block for m, which takes over a reference, and reports whether it has; m.mu is held.
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

// block waits for m in the driver's call.
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

// tell ends a watch: it drops its reference.
func (m *Mark) tell(fns []func(error)) {
	for _, fn := range fns {
		fn(m.err)
	}
	m.Release()
}

// enlist has m asked in turn, with a reference of the caller's; m.mu is held.
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

// set sets the timer. Where to ask all takes long the pause is longer; w.mu is held.
func (w *watch) set() { w.timer.Reset(max(w.pause, pollShare*w.took)) }

// strike takes m off the list. Its reference there is the caller's then; m.mu is held.
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

// unused takes m off the list if nobody waits for it, and reports whether it has; m.mu is held.
func (w *watch) unused(m *Mark) bool {
	if m.watched != inTurn || m.waiters > 0 || len(m.gates) > 0 || len(m.fns) > 0 {
		return false
	}
	w.strike(m)
	return true
}

// tick asks all marks, and sets the timer anew if any are left.
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

// sweep asks each mark and returns how many were done. It goes backwards: another takes the place of one that is struck
// off, and that has been asked, or is new.
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

// ask ends the watch of m if its work is done, and returns how many that are. If not, and another call may block, one does for m.
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

// drain comes to the end of all watches, of marks whose ends are known.
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

// asking counts calls of the driver's about marks, which end before the device is closed.
type asking struct {
	handle
	left latch
}

func (a *asking) leave() {
	if a.handle.leave() {
		a.left.open()
	}
}

// shut lets the calls under way end, and refuses others.
func (a *asking) shut() {
	if _, none := a.close(); !none {
		a.left.wait()
	}
}
