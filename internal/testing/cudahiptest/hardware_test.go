//go:build cuda && linux

package cudahiptest

import (
	"testing"

	"github.com/go-halyard/halyard/backends/cuda"
)

// Tests for hardware must not need the simulated driver. They must also pass on simulated devices.
func TestHardwareTestsNeedNoSimulatedDriver(t *testing.T) {
	library, _ := Libraries(t, "cuda")
	t.Setenv("HALYARD_CUDA_LIBRARY", library)
	h := &Harness{backend: cuda.New(), count: 2}
	h.runHardware(t)
}

func BenchmarkHardwareOnTheSimulatedDriver(b *testing.B) {
	library, _ := Libraries(b, "cuda")
	b.Setenv("HALYARD_CUDA_LIBRARY", library)
	one, two, four := func(uintptr) {}, func(a, b uintptr) {}, func(a, b, c, d uintptr) {}
	benchHardware(b, cuda.New(), Raw{Current: func() {}, CopyIn: four, CopyOut: four,
		Fill: func(uintptr, uint8, uintptr, uintptr) {}, Record: two, Wait: two, Query: one, Sync: one,
		Alloc: func(uintptr) uintptr { return 0 }, Free: one, Launch: func(uintptr, uintptr, uintptr) {}})
}
