package hal

import "sync"

// latch is opened once; its zero value is shut.
type latch struct {
	mu  sync.Mutex
	on  bool          // it is open
	ch  chan struct{} // nil until a goroutine waits
	fns []func()
}

func (l *latch) open() {
	l.mu.Lock()
	l.on = true
	fns := l.fns
	l.fns = nil
	if l.ch != nil {
		close(l.ch)
	}
	l.mu.Unlock()
	for _, fn := range fns {
		fn()
	}
}

// opened returns a channel that is closed once the latch is open.
func (l *latch) opened() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ch == nil {
		l.ch = make(chan struct{})
		if l.on {
			close(l.ch)
		}
	}
	return l.ch
}

func (l *latch) wait() { <-l.opened() }

// then calls fn when the latch is opened, on the goroutine that opens it, or at once if it is open.
func (l *latch) then(fn func()) {
	l.mu.Lock()
	on := l.on
	if !on {
		l.fns = append(l.fns, fn)
	}
	l.mu.Unlock()
	if on {
		fn()
	}
}

// signal is a condition variable that can be waited for in a select. Every method is called with the lock held that
// guards the condition. The zero value is ready to use.
type signal struct{ ch chan struct{} }

// next returns a channel that is closed at the next broadcast.
func (s *signal) next() <-chan struct{} {
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

func (s *signal) broadcast() {
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}
