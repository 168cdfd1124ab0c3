package grid

import (
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/go-halyard/halyard/internal/crash"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/gridgen"
)

// maxRacing is how many threads may run at once with the race detector, which can follow about 8000 goroutines.
const maxRacing = 4096

// RunTogether calls f for each thread of a block, on a goroutine of its own. The threads wait for each other where they call
// [Thread.Barrier]. If f panics in one of them, or returns while others wait, all threads end, and RunTogether panics.
//
// This is slow. Files that "halyard kernels" writes call it only if [gridgen.InPhases] is false.
func RunTogether(b *kernel.Block, f func(Thread)) {
	n := int(b.Size[0]) * int(b.Size[1]) * int(b.Size[2])
	if gridgen.Racing {
		places.take(n)
		defer places.give(n)
	}
	c := &crew{f: f, live: n, turn: newRound()}
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
	if c.fault != nil {
		panic(c.fault)
	}
}

// Barrier waits until every thread of the block has come to the same call. After it every thread sees what all of them wrote before it, to
// [Shared] memory and to buffers.
func (t Thread) Barrier() {
	if t.in.own == nil {
		panic("grid: a kernel that calls Barrier needs RunTogether")
	}
	t.in.own.wait("github.com/go-halyard/halyard/kernel/grid.Thread.Barrier")
}

// Shared returns memory that the threads of a block share, for example an array [256]float32. It is zero when the block begins. Each call
// in the text of a kernel is a variable of its own. Every thread must make the same calls in the same order, none of them in a loop.
func Shared[T any](t Thread) *T {
	m := t.in.own
	if m == nil {
		panic("grid: a kernel that calls Shared needs RunTogether")
	}
	c := m.crew
	c.sharing.Lock()
	defer c.sharing.Unlock()
	n := m.calls
	m.calls++
	if n == len(c.shared) {
		c.shared = append(c.shared, new(T))
	}
	p, same := c.shared[n].(*T)
	if !same {
		panic(fmt.Sprintf("grid: Shared of %T, where another thread has %T", p, c.shared[n]))
	}
	return p
}

// SharedSlice returns memory that the threads of a block share, as [Shared] does, as a slice of n elements. The length n is the same for all threads:
// it is computed with +, -, *, /, %, min and max from constants, integers that are parameters of the kernel, and lengths of slices. A kernel has one such slice,
// in a statement s := grid.SharedSlice[float32](t, n) outside of loops and conditions; parts of it, such as s[:i] and s[i:], are slices too.
//
// A launch is refused, with an error of kind hal.ErrInvalidArgument that names the line, if n is negative, or if a block of the device does not have that
// much shared memory. Of this memory there are 16 MiB at most, and on GPUs often 48 KiB.
func SharedSlice[T any](t Thread, n int) []T {
	m := t.in.own
	if m == nil {
		panic("grid: a kernel that calls SharedSlice needs RunTogether")
	}
	c := m.crew
	c.sharing.Lock()
	defer c.sharing.Unlock()
	i := m.calls
	m.calls++
	if i == len(c.shared) {
		c.shared = append(c.shared, make([]T, n))
	}
	s, same := c.shared[i].([]T)
	if !same || len(s) != n {
		panic(fmt.Sprintf("grid: SharedSlice of %d elements, where another thread has %T", n, c.shared[i]))
	}
	return s
}

// SharedOf returns the memory of [SharedSlice] for a block. Generated files call it.
func SharedOf[T any](b *kernel.Block, n int) []T {
	s := kernel.SharedSlice[T](b)
	if n < 0 || n > len(s) { // the launch did not ask for it
		return make([]T, n)
	}
	s = s[:n:n]
	clear(s)
	return s
}

// crew is what the threads of a block share.
type crew struct {
	f func(Thread)

	// A lock of its own guards shared, so that the race detector sees no order between a thread that comes to a barrier and one that asks
	// for shared memory.
	sharing  sync.Mutex
	shared   []any // pointers and slices
	combines int   // how often the threads have combined values
	combined any   // the values of the last time, a slice

	mu      sync.Mutex
	turn    *round // the barrier at which threads wait
	live    int    // threads that have not ended
	waiting []*member
	ended   *member      // the last thread that has ended
	fault   *crash.Crash // of the first thread that failed
	broken  bool         // threads that wait at a barrier are ended
}

// member is one thread of a block.
type member struct {
	crew   *crew
	block  block
	thread Thread
	calls  int    // of Shared and SharedSlice
	place  string // of the last barrier that it came to

	combines int // how often it has combined values with others
}

// round is one barrier of a block.
type round struct {
	over   chan struct{} // closed when all threads have come, or when some cannot come
	broken bool          // some cannot come
}

func newRound() *round { return &round{over: make(chan struct{})} }

// leave is the panic that ends a thread which waits at a barrier.
type leave struct{}

// run runs the thread and keeps its failure.
func (m *member) run() {
	debug.SetPanicOnFault(true) // package kernel protects memory to find out what a kernel uses
	ended := false
	defer func() {
		if ended {
			return
		}
		switch p := recover(); p.(type) {
		case leave:
		case nil: // runtime.Goexit
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
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fault == nil {
		c.fault = fault
	}
}

// wait waits at a barrier until all threads of the block have come. The names of functions with a barrier begin with a prefix.
func (m *member) wait(prefixes ...string) {
	c := m.crew
	m.place = crash.Caller(prefixes...)
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

// abandoned is the failure of a block in which one thread waits at a barrier, and another has ended.
func abandoned(waits, ended *member) *crash.Crash {
	return &crash.Crash{What: fmt.Sprintf("let %s end while %s waited at a barrier", ended.name(), waits.name()), Place: waits.place}
}

// apart is the failure of a block in which threads wait at different barriers.
func apart(a, b *member) *crash.Crash {
	return &crash.Crash{What: fmt.Sprintf("let %s wait at a barrier, and %s at another (%s)", a.name(), b.name(), b.place), Place: a.place}
}

// name returns a thread's place in its block.
func (m *member) name() string {
	t := m.thread
	return fmt.Sprintf("thread %d,%d,%d", t.Local(0), t.Local(1), t.Local(2))
}

// places limits the threads of all blocks together.
var places = limit{left: maxRacing}

type limit struct {
	mu    sync.Mutex
	freed sync.Cond
	left  int // how many more threads may run
}

func init() { places.freed.L = &places.mu }

// take waits until n more threads may run.
func (l *limit) take(n int) {
	if n > maxRacing {
		panic(fmt.Sprintf("with the race detector a block of a kernel with barriers has at most %d threads, not %d", maxRacing, n))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.left < n {
		l.freed.Wait()
	}
	l.left -= n
}

func (l *limit) give(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.left += n
	l.freed.Broadcast()
}
