package life

import (
	"runtime"
	"sync/atomic"
)

// Lookout detects that the program has lost an object without closing it. Only the program's value for the object refers to the Lookout,
// and a cleanup of the runtime is attached to the Lookout. Attaching a cleanup costs more than the rest of an allocation, so the lookout
// of a closed object is kept for a later object.
type Lookout struct {
	at      *sentry
	cleanup runtime.Cleanup
}

// sentry leads from a lookout's cleanup to the object. It is nil while the lookout is unused.
type sentry struct{ object atomic.Pointer[Child] }

// lookoutsMost is the number of unused lookouts that an owner keeps.
const lookoutsMost = 256

func newLookout() *Lookout {
	w := &Lookout{at: new(sentry)}
	w.cleanup = runtime.AddCleanup(w, (*sentry).leaked, w.at)
	return w
}

// leaked runs on the runtime's cleanup goroutine, which must not block.
func (s *sentry) leaked() {
	if c := s.object.Load(); c != nil {
		c.thing.Leaked()
	}
}

// spareLookout returns an unused lookout, or nil if there is none; o.mu is held.
func (o *Owner) spareLookout() *Lookout {
	n := len(o.lookouts) - 1
	if n < 0 {
		return nil
	}
	w := o.lookouts[n]
	o.lookouts[n] = nil
	o.lookouts = o.lookouts[:n]
	return w
}

// keepLookout keeps an unused lookout for another object. If there are enough, it returns the lookout, to be stopped; else nil.
// o.mu is held.
func (o *Owner) keepLookout(w *Lookout) *Lookout {
	if w == nil || len(o.lookouts) >= lookoutsMost {
		return w
	}
	o.lookouts = append(o.lookouts, w)
	return nil
}

// forget makes the lookout, which may be nil, unused.
func (w *Lookout) forget() {
	if w != nil {
		w.at.object.Store(nil)
	}
}

// stop detaches the cleanup of the lookout, which may be nil.
func (w *Lookout) stop() {
	if w != nil {
		w.cleanup.Stop()
	}
}
