//go:build cuda && linux

package cuda

import (
	"testing"

	"github.com/go-halyard/halyard/internal/gpu/gputest"
)

// The tests of this file run on NVIDIA hardware, and say so where there is none.

func TestHardwareConformance(t *testing.T) { gputest.ConformHardware(t, New(), codes, "nvidia") }

func TestHardware(t *testing.T) { gputest.RunHardware(t, New(), "nvidia") }

func BenchmarkHardware(b *testing.B) {
	gputest.BenchHardware(b, New(), "nvidia", raw(b, libraries()...))
}
