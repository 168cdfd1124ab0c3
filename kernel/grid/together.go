package grid

import (
	"fmt"

	"github.com/go-halyard/halyard/internal/crash"
	"github.com/go-halyard/halyard/kernel"
)

// maxTogether is how many goroutines may run threads at once with the race detector, which can follow about 8000 goroutines.
const maxTogether = 4096

// RunTogether calls f for each thread of a block. The threads wait for each other where they call [Thread.Barrier]. If f panics in one of them, or
// returns while others wait, all threads end, and RunTogether panics.
func RunTogether(b *kernel.Block, f func(Thread)) {
	if racing {
		runGoroutines(b, f)
	} else {
		runTurns(b, f)
	}
}

// Barrier waits until every thread of the block has come to the same call. After it every thread sees what all of them wrote before it, to [Shared]
// memory and to buffers.
func (t Thread) Barrier() {
	if t.in.own == nil {
		panic("grid: a kernel that calls Barrier needs RunTogether")
	}
	t.in.own.wait()
}

// Shared returns memory that the threads of a block share, for example an array [256]float32. It is zero when the block begins. Each call in
// the text of a kernel is a variable of its own. Every thread must make the same calls in the same order, none of them in a loop.
func Shared[T any](t Thread) *T {
	m := t.in.own
	if m == nil {
		panic("grid: a kernel that calls Shared needs RunTogether")
	}
	c := m.crew
	if c.goroutines {
		c.sharing.Lock()
		defer c.sharing.Unlock()
	}
	n := m.calls
	m.calls++
	if n == len(c.shared) {
		c.shared = append(c.shared, variable{})
	}
	v := &c.shared[n]
	p, same := v.p.(*T)
	switch {
	case same && v.used:
	case v.used:
		panic(fmt.Sprintf("grid: Shared of %T, where another thread has %T", p, v.p))
	case same:
		var zero T
		*p = zero
	default:
		p = new(T)
		v.p = p
	}
	v.used = true
	return p
}

// variable is memory that the threads of a block share.
type variable struct {
	p    any
	used bool // this block uses it; else it is left from an earlier one
}

// leave is the panic that ends a thread which waits at a barrier.
type leave struct{}

// name returns a thread's place in its block.
func (m *member) name() string {
	t := m.thread
	return fmt.Sprintf("thread %d,%d,%d", t.Local(0), t.Local(1), t.Local(2))
}

// barrier returns the place of the call of Barrier that this goroutine is in.
func barrier() string {
	return crash.Caller("github.com/go-halyard/halyard/kernel/grid.Thread.Barrier")
}

// abandoned is the failure of a block in which one thread waits at a barrier, and another has ended.
func abandoned(waits, ended *member) *crash.Crash {
	return &crash.Crash{What: fmt.Sprintf("let %s end while %s waited at a barrier", ended.name(), waits.name()), Place: waits.place}
}
