package buffer

import (
	"sync"

	"github.com/go-halyard/halyard/hal"
)

// Meter counts what all buffers together move, in scopes that nest. The zero Meter is ready, and has no scope.
type Meter struct {
	mu     sync.Mutex
	scopes []Stats // the totals when each was opened
}

// Push opens a scope.
func (m *Meter) Push() {
	m.mu.Lock()
	m.scopes = append(m.scopes, Totals())
	m.mu.Unlock()
}

// Pop ends the innermost scope and returns what was moved while it was open, by whatever goroutine, scopes within
// it included. It counts what [Totals] counts. Without an open scope the error is of kind ErrInvalidArgument.
func (m *Meter) Pop() (Stats, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	last := len(m.scopes) - 1
	if last < 0 {
		return Stats{}, hal.Errorf("Pop", hal.ErrInvalidArgument, "no scope is open")
	}
	s := Totals().Sub(m.scopes[last])
	m.scopes = m.scopes[:last]
	return s, nil
}
