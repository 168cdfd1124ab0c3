//go:build hip && linux

package hip

import (
	"testing"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/gpu"

	"github.com/go-halyard/halyard/internal/gpu/gputest"
)

func harness(t testing.TB) *gputest.Harness {
	t.Helper()
	_, hip := gputest.Libraries(t, "hip")
	return &gputest.Harness{Library: hip, Env: "HALYARD_HIP_LIBRARY", New: New, Binding: binding,
		PeerEnable: symbols[gpu.CallPeerEnable].Name,
		Waiting:    func() int { return entry().Outstanding() + oldEntry().Outstanding() }}
}

func TestConformance(t *testing.T) { gputest.Conformance(t, harness(t), codes) }

func TestSimulated(t *testing.T) { gputest.Run(t, harness(t)) }

func BenchmarkOverhead(b *testing.B) {
	h := harness(b)
	gputest.Overhead(b, h, raw(b, h.Library))
}

func TestPlantedBugs(t *testing.T) {
	gputest.PlantedBugs(t, harness(t), codes, func(plant func(gpu.API) gpu.API) driver.Backend {
		return gpu.NewBackend(vendor(plant))
	})
}

// A runtime as old as the symbols that are not optional.
func TestOldestRuntime(t *testing.T) {
	h := harness(t)
	_, h.Library = gputest.Libraries(t, "hip", append(gputest.Optional(symbols), callback)...)
	gputest.Minimal(t, h)
}

// ROCm 5.2 has no hipLaunchHostFunc.
func TestRuntimeWithStreamCallbacks(t *testing.T) {
	h := harness(t)
	_, h.Library = gputest.Libraries(t, "hip", symbols[gpu.CallHostCall].Name)
	gputest.Run(t, h)
}

func TestIncompleteRuntime(t *testing.T) {
	const needed = "hipMemcpyHtoDAsync"
	h := harness(t)
	_, h.Library = gputest.Libraries(t, "hip", needed)
	gputest.Incomplete(t, h, needed)
}

// BenchmarkPageable compares copies of pageable memory with copies of page-locked memory.
func BenchmarkPageable(b *testing.B) { gputest.Pageable(b, harness(b)) }
