package life

import "sync"

// Latch is opened once; its zero value is shut.
type Latch struct {
	mu     sync.Mutex
	opened bool
	ch     chan struct{} // nil until a goroutine waits
	fns    []func()
}

// Open opens the latch.
func (l *Latch) Open() {
	l.mu.Lock()
	l.opened = true
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

// Opened returns a channel that is closed once the latch is open.
func (l *Latch) Opened() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ch == nil {
		l.ch = make(chan struct{})
		if l.opened {
			close(l.ch)
		}
	}
	return l.ch
}

// Wait waits until the latch is open.
func (l *Latch) Wait() { <-l.Opened() }

// Then calls fn when the latch is opened, on the goroutine that opens it, or at once if it is open.
func (l *Latch) Then(fn func()) {
	l.mu.Lock()
	opened := l.opened
	if !opened {
		l.fns = append(l.fns, fn)
	}
	l.mu.Unlock()
	if opened {
		fn()
	}
}

// Signal is a condition variable that can be waited for in a select. Every method is called with the lock held that
// guards the condition. The zero value is ready to use.
type Signal struct{ ch chan struct{} }

// Next returns a channel that is closed at the next Broadcast.
func (s *Signal) Next() <-chan struct{} {
	if s.ch == nil {
		s.ch = make(chan struct{})
	}
	return s.ch
}

// Broadcast wakes those who wait for Next.
func (s *Signal) Broadcast() {
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
	}
}
