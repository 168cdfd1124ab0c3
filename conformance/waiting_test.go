package conformance_test

import (
	"testing"

	"github.com/go-halyard/halyard/conformance"
	"github.com/go-halyard/halyard/internal/testing/hooked"
)

// freeWhenIdle frees memory as CUDA and HIP do: when all streams of all devices have done what they had to.
func freeWhenIdle(m *hooked.Memory) error {
	if !m.Lent {
		for _, s := range own(m.Device).b.all() {
			_ = s.Sync()
		}
	}
	return free(m)
}

// Memory that says that its free waits is not freed while the program holds a gate shut.
func TestFreesThatWait(t *testing.T) {
	conformance.Run(t, newShim(hooks{Free: freeWhenIdle, FreeMayBlock: func(m *hooked.Memory) bool { return !m.Lent }}).harness())
}
