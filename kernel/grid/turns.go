package grid

import (
	"iter"
	"sync"
	"time"

	"github.com/go-halyard/halyard/internal/crash"
	"github.com/go-halyard/halyard/kernel"
)

// crew is what the threads of a block share while they run together. runTurns uses it again for other blocks.
type crew struct {
	members []*member // at least as many as the block has threads
	shared  []variable
	f       func(Thread)
	fault   *crash.Crash // of the first thread that failed
	broken  bool         // threads that wait at a barrier are ended

	// With goroutines, mu guards fault, broken and the fields below it. Another lock guards shared, so that the race detector sees no order between a
	// thread that comes to a barrier and one that asks for shared memory.
	goroutines bool
	sharing    sync.Mutex // guards shared
	mu         sync.Mutex
	turn       *round // the barrier at which threads wait
	live       int    // threads that have not ended
	waiting    []*member
	ended      *member // the last thread that has ended
}

// member is one thread of a block.
type member struct {
	crew   *crew
	block  block
	thread Thread
	calls  int    // of Shared
	atWait bool   // it is at a barrier
	place  string // of the barrier at which it was ended; with goroutines, of the last barrier that it came to

	// With turns, a member is a coroutine: next runs it to its next barrier, or to its end.
	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
}

// runTurns runs the threads of a block in turns, on this goroutine: in each turn a thread runs to its next barrier, or to its end.
func runTurns(b *kernel.Block, f func(Thread)) {
	c := takeCrew()
	c.f = f
	n := 0
	for t := range Threads(b) {
		if n == len(c.members) {
			c.members = append(c.members, c.coroutine())
		}
		m := c.members[n]
		m.block.Block = b
		m.thread, m.calls = Thread{t.x, t.y, t.z, &m.block}, 0
		n++
	}
	done := false
	defer func() {
		if !done { // a thread has ended this goroutine
			c.abandon(n)
			c.close()
		}
	}()
	c.turns(c.members[:n])
	done = true
	fault := c.fault
	c.release(n)
	if fault != nil {
		panic(fault)
	}
}

// turns runs threads until all have ended. If one fails, or ends while others wait, it ends the others.
func (c *crew) turns(all []*member) {
	for first := all[0]; ; {
		for _, m := range all {
			m.next()
			if c.fault == nil && m.atWait == first.atWait {
				continue
			}
			waits, ended := first, m
			if m.atWait {
				waits, ended = m, first
			}
			c.abandon(len(all))
			if c.fault == nil {
				c.fault = abandoned(waits, ended)
			}
			return
		}
		if !first.atWait {
			return
		}
	}
}

// abandon ends the first n members where they wait.
func (c *crew) abandon(n int) {
	c.broken = true
	for _, m := range c.members[:n] {
		if m.atWait {
			m.next()
		}
	}
	c.broken = false
}

// coroutine returns a new member. Each call of next runs its thread until the thread waits or ends.
func (c *crew) coroutine() *member {
	m := &member{crew: c}
	m.block.own = m
	m.next, m.stop = iter.Pull(func(yield func(struct{}) bool) {
		m.yield = yield
		for {
			m.run()
			if !yield(struct{}{}) {
				return
			}
		}
	})
	return m
}

// run runs the thread and keeps its failure.
func (m *member) run() {
	ended := false
	defer func() {
		m.atWait = false
		if ended {
			return
		}
		switch p := recover(); p.(type) {
		case leave:
		case nil: // runtime.Goexit; with turns, next then ends the block's goroutine as well
			m.crew.fail(&crash.Crash{What: "ended its goroutine"})
		default:
			m.crew.fail(crash.Recovered(p))
		}
	}()
	m.crew.f(m.thread)
	ended = true
}

// fail keeps the first failure of a block.
func (c *crew) fail(fault *crash.Crash) {
	if c.goroutines {
		c.mu.Lock()
		defer c.mu.Unlock()
	}
	if c.fault == nil {
		c.fault = fault
	}
}

// wait is Barrier.
func (m *member) wait() {
	c := m.crew
	if m.yield == nil {
		c.arrive(m)
		return
	}
	if !c.broken {
		m.atWait = true
		m.yield(struct{}{})
		m.atWait = false
	}
	if c.broken {
		m.leave()
	}
}

// leave ends the thread at a barrier.
func (m *member) leave() {
	m.place = barrier()
	panic(leave{})
}

// idle keeps the crews that no block uses, so that later blocks need not make coroutines. When no crew has been taken for a while, they are closed.
var idle struct {
	mu    sync.Mutex
	crews []*crew // at most as many as blocks ever ran at the same time
	taken bool    // a crew was taken since the timer was set
	timer *time.Timer
	set   bool // the timer is set
}

// idleFor is how long a crew that no block uses is kept.
const idleFor = 50 * time.Millisecond

func takeCrew() *crew {
	idle.mu.Lock()
	defer idle.mu.Unlock()
	idle.taken = idle.set
	if last := len(idle.crews) - 1; last >= 0 {
		c := idle.crews[last]
		idle.crews[last] = nil
		idle.crews = idle.crews[:last]
		return c
	}
	return &crew{}
}

// release makes a crew available again after a block of n threads.
func (c *crew) release(n int) {
	c.f, c.fault = nil, nil
	for i := range c.shared {
		c.shared[i].used = false
	}
	for _, m := range c.members[:n] {
		m.block.Block = nil
	}
	idle.mu.Lock()
	defer idle.mu.Unlock()
	idle.crews = append(idle.crews, c)
	if !idle.set {
		idle.set, idle.taken = true, false
		if idle.timer == nil {
			idle.timer = time.AfterFunc(idleFor, closeIdle)
		} else {
			idle.timer.Reset(idleFor)
		}
	}
}

// closeIdle closes the crews unless one has been taken since the timer was set.
func closeIdle() {
	idle.mu.Lock()
	var closing []*crew
	if idle.taken {
		idle.taken = false
		idle.timer.Reset(idleFor)
	} else {
		idle.set = false
		closing, idle.crews = idle.crews, nil
	}
	idle.mu.Unlock()
	for _, c := range closing {
		c.close()
	}
}

// close ends the coroutines.
func (c *crew) close() {
	for _, m := range c.members {
		m.stop()
	}
}
