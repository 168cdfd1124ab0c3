package nccl

import (
	"context"
	"runtime"
	"time"
)

// waiter spends the time between two questions to the library. At first it only yields; then it sleeps, longer each time, up to a millisecond.
type waiter struct {
	start time.Time
	nap   time.Duration
}

// rest passes some time, and reports whether ctx has ended.
func (w *waiter) rest(ctx context.Context) bool {
	if ctx.Err() != nil {
		return true
	}
	switch {
	case w.start.IsZero():
		w.start = time.Now()
		runtime.Gosched()
	case time.Since(w.start) < 200*time.Microsecond:
		runtime.Gosched()
	default:
		w.nap = min(2*w.nap+10*time.Microsecond, time.Millisecond)
		time.Sleep(w.nap)
	}
	return false
}

func (w *waiter) since() time.Duration {
	if w.start.IsZero() {
		return 0
	}
	return time.Since(w.start)
}
