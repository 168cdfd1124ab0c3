package host

import (
	"sync/atomic"
	"time"
)

// lookTime is how long a goroutine that has run blocks looks for the next launch. To wake a processor takes about as long, which is
// much of a launch of 100 us, and programs often launch the next kernel at once.
const (
	lookTime  = 10 * time.Microsecond
	mostLooks = 1 << 12 // more than there are in that time; the clock may stand still, as in package synctest
)

// crew is the goroutines that run blocks of a stream's launches. A goroutine that has none left keeps its processor for a while and looks for
// the stream's next launch. It takes none of another stream, which may belong to another bubble of package synctest.
type crew struct {
	looking atomic.Int32 // goroutines that look and that nobody has called
	calls   chan *launch // one for each goroutine that was called
}

func newCrew() crew { return crew{calls: make(chan *launch, 8)} }

// waiting counts the goroutines of all streams that were started and do not run yet: for them the others leave their processors.
var waiting atomic.Int32

// start lets n goroutines run blocks of a launch.
func (c *crew) start(l *launch, n int) {
	for range n {
		if c.take() {
			c.calls <- l
			continue
		}
		waiting.Add(1)
		go l.first()
	}
}

// take reports whether a goroutine looks for a launch. Then it does no longer, and the caller owes it a send to calls.
func (c *crew) take() bool {
	for {
		n := c.looking.Load()
		if n == 0 || c.looking.CompareAndSwap(n, n-1) {
			return n > 0
		}
	}
}

// serve runs blocks of a launch, and then of others until there is none for a while. The last goroutine of a launch looks for no other: the
// stream goes on when that ends, most often on the same processor.
func (c *crew) serve(l *launch) {
	waiting.Add(-1)
	for l != nil && !l.work() {
		l = c.look()
	}
}

// look returns the next launch, or nil if there is none for a while.
func (c *crew) look() *launch {
	c.looking.Add(1)
	until := time.Since(epoch) + lookTime
	for looks := 0; looks < mostLooks && waiting.Load() == 0 && time.Since(epoch) < until; looks++ {
		select {
		case l := <-c.calls:
			return l
		default:
		}
	}
	if c.take() {
		return nil
	}
	return <-c.calls // somebody calls now
}
