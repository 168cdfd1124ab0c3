//go:build hip && linux

package hip

import (
	"testing"

	"github.com/go-halyard/halyard/internal/testing/cudahiptest"
)

// The tests of this file run on AMD hardware, and are skipped on machines that have none.

func TestHardwareConformance(t *testing.T) { cudahiptest.ConformHardware(t, New(), codes, "amd") }

func TestHardware(t *testing.T) { cudahiptest.RunHardware(t, New(), "amd") }

func BenchmarkHardware(b *testing.B) {
	cudahiptest.BenchHardware(b, New(), "amd", raw(b, libraries()...))
}
