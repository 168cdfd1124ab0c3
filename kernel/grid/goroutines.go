package grid

import (
	"fmt"
	"sync"

	"github.com/go-halyard/halyard/internal/crash"
	"github.com/go-halyard/halyard/kernel"
)

// places counts how many more goroutines the blocks of all launches may have at once.
var places = struct {
	mu    sync.Mutex
	freed *sync.Cond
	left  int
}{left: maxTogether}

func init() { places.freed = sync.NewCond(&places.mu) }

// runGoroutines runs each thread of a block on a goroutine of its own.
func runGoroutines(b *kernel.Block, f func(Thread)) {
	n := int(b.Size[0]) * int(b.Size[1]) * int(b.Size[2])
	if n > maxTogether {
		panic(fmt.Sprintf("with the race detector a block of a kernel with barriers has at most %d threads, not %d", maxTogether, n))
	}
	places.mu.Lock()
	for places.left < n {
		places.freed.Wait()
	}
	places.left -= n
	places.mu.Unlock()

	c := &crew{f: f, live: n, goroutines: true}
	c.turn = newRound()
	var ended sync.WaitGroup
	for t := range Threads(b) {
		m := &member{crew: c}
		m.block = block{b, m}
		m.thread = Thread{t.x, t.y, t.z, &m.block}
		ended.Go(func() {
			defer c.end(m)
			m.run()
		})
	}
	ended.Wait()

	places.mu.Lock()
	places.left += n
	places.freed.Broadcast()
	places.mu.Unlock()
	if c.fault != nil {
		panic(c.fault)
	}
}

// arrive waits at a barrier until all threads of the block have come.
func (c *crew) arrive(m *member) {
	m.place = barrier()
	c.mu.Lock()
	if c.broken {
		c.mu.Unlock()
		panic(leave{})
	}
	c.waiting = append(c.waiting, m)
	r := c.turn
	c.check()
	c.mu.Unlock()
	<-r.over // c.mu is not locked after this: the race detector would see an order between threads that the kernel does not have
	if r.broken {
		panic(leave{})
	}
}

// round is one barrier of a block.
type round struct {
	over   chan struct{} // closed when all threads have come, or when some cannot come
	broken bool          // some cannot come
}

func newRound() *round { return &round{over: make(chan struct{})} }

// end notes that a thread has ended.
func (c *crew) end(m *member) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live--
	c.ended = m
	c.check()
}

// check lets the waiting threads go on if all have come, and ends them if some cannot come; c.mu is held.
func (c *crew) check() {
	switch {
	case c.broken || len(c.waiting) == 0:
		return
	case c.fault != nil:
		c.broken = true
	case c.ended != nil:
		c.fault, c.broken = abandoned(c.waiting[0], c.ended), true
	case len(c.waiting) < c.live:
		return
	default:
		first := c.waiting[0]
		for _, m := range c.waiting {
			if m.place != first.place {
				c.fault, c.broken = apart(first, m), true
			}
		}
	}
	c.waiting = c.waiting[:0]
	c.turn.broken = c.broken
	close(c.turn.over)
	c.turn = newRound()
}

// apart is the failure of a block in which threads wait at different barriers.
func apart(a, b *member) *crash.Crash {
	return &crash.Crash{What: fmt.Sprintf("let %s wait at a barrier, and %s at another (%s)", a.name(), b.name(), b.place), Place: a.place}
}
