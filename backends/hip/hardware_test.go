//go:build hip && linux

package hip

import (
	"testing"

	"github.com/go-halyard/halyard/internal/gpu/gputest"
)

// The tests of this file run on AMD hardware, and say so where there is none.

func TestHardwareConformance(t *testing.T) { gputest.ConformHardware(t, New(), codes, "amd") }

func TestHardware(t *testing.T) { gputest.RunHardware(t, New(), "amd") }

func BenchmarkHardware(b *testing.B) {
	gputest.BenchHardware(b, New(), "amd", raw(b, libraries()...))
}
