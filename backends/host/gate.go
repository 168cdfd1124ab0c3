package host

import (
	"sync"

	"github.com/go-halyard/halyard/hal/driver"
)

// gate holds one stream until it is opened.
type gate struct {
	mu     sync.Mutex
	open   bool
	waiter *stream // the stream, once it has reached the gate
}

func (s *stream) Gate() (driver.Gate, error) {
	g := &gate{}
	s.mu.Lock()
	s.enqueue(op{kind: opGate, obj: g})
	s.mu.Unlock()
	return g, nil
}

func (g *gate) Open() error {
	g.mu.Lock()
	g.open = true
	w := g.waiter
	g.waiter = nil
	g.mu.Unlock()
	if w != nil {
		go w.work()
	}
	return nil
}

// holdUp takes over the right to run s if the gate is shut, and reports whether it did.
func (g *gate) holdUp(s *stream) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open {
		return false
	}
	g.waiter = s
	return true
}
