package comm

import (
	"context"
	"runtime"
	"time"
)

const (
	eager = 50                    // how often the engine is asked before the processor is offered to other processes
	awake = time.Millisecond      // how long it is asked without a sleep
	nap   = 10 * time.Microsecond // the length of each sleep after that; the system makes it longer
)

// waiter spends the time between two calls of the engine's Test. A machine may run more ranks than it has cores; then a rank that waits
// has to leave its core to the others.
type waiter struct {
	asked int
	start time.Time
}

// rest passes some time, and reports whether ctx has ended.
func (w *waiter) rest(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return true
	default:
	}
	switch w.asked++; {
	case w.asked == 1:
		w.start = time.Now()
		runtime.Gosched()
	case w.asked <= eager:
		runtime.Gosched()
	case time.Since(w.start) < awake:
		runtime.Gosched()
		yield()
	default:
		time.Sleep(nap)
	}
	return false
}

func (w *waiter) since() time.Duration {
	if w.start.IsZero() {
		return 0
	}
	return time.Since(w.start)
}
