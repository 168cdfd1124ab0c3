package buffer

import (
	"sync"

	"github.com/go-halyard/halyard/hal"
)

// Meter counts what all buffers together move, in scopes that nest. The zero Meter is ready to use, and has no open scope.
type Meter struct {
	mu     sync.Mutex
	scopes []Stats // the totals at the time when each was opened
}

// Push opens a scope.
func (m *Meter) Push() {
	m.mu.Lock()
	m.scopes = append(m.scopes, Totals())
	m.mu.Unlock()
}

// Pop ends the innermost scope and returns what all goroutines moved while it was open, including in scopes within
// it. It counts what [Totals] counts. Without an open scope the error is of kind ErrInvalidArgument.
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
