package conformance_test

import (
	"slices"
	"testing"

	"github.com/go-halyard/halyard/conformance"
)

// FreeMayBlock implements driver.FreeBlocker.
func (m *shimMemory) FreeMayBlock() bool { return m.d.b.bug.freeWaits && !m.borrowed }

// freeWhenIdle frees memory as CUDA and HIP do: when all streams of all devices have done what they had to.
func freeWhenIdle(m *shimMemory) error {
	if !m.borrowed {
		m.d.b.mu.Lock()
		streams := slices.Clone(m.d.b.streams)
		m.d.b.mu.Unlock()
		for _, s := range streams {
			_ = s.Sync()
		}
	}
	return m.free()
}

// Memory that says that its free waits is not freed while the program holds a gate shut.
func TestFreesThatWait(t *testing.T) {
	conformance.Run(t, newShim(bug{free: freeWhenIdle, freeWaits: true}).harness())
}
