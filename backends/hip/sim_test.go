//go:build hip && linux

package hip

import (
	"testing"

	"github.com/go-halyard/halyard/internal/cudahip"
	"github.com/go-halyard/halyard/internal/testing/cudahiptest"
	"github.com/go-halyard/halyard/internal/testing/simgpu"
)

func harness(t testing.TB) *cudahiptest.Harness {
	t.Helper()
	_, hip := cudahiptest.Libraries(t, "hip")
	return &cudahiptest.Harness{Library: hip, Env: "HALYARD_HIP_LIBRARY", New: New, Binding: binding,
		PeerEnable: symbols[cudahip.CallPeerEnable].Name,
		Waiting:    func() int { return entry().Outstanding() + oldEntry().Outstanding() }}
}

func TestConformance(t *testing.T) { cudahiptest.Conformance(t, harness(t), codes) }

// APUs are integrated devices. The simulated library also lacks what chipStar and HIP-CPU lack.
func TestConformanceOfAnIntegratedDevice(t *testing.T) {
	cudahiptest.ConformanceWithout(t, harness(t), codes, cudahiptest.Integrated|simgpu.LackHostLaunch)
}

// Before clr of October 2022, few devices could wait for a word of memory. HIP has no other gates.
func TestConformanceWithoutGates(t *testing.T) {
	cudahiptest.ConformanceWithout(t, harness(t), codes, simgpu.LackAnswers)
}

func TestRuntimeWithoutLaunches(t *testing.T) { cudahiptest.HostCalls(t, harness(t)) }

func TestSimulated(t *testing.T) { cudahiptest.Run(t, harness(t)) }

func BenchmarkOverhead(b *testing.B) {
	h := harness(b)
	cudahiptest.Overhead(b, h, raw(b, h.Library))
}

func TestPlantedBugs(t *testing.T) {
	cudahiptest.PlantedBugs(t, harness(t), vendor)
}

// A runtime as old as the symbols that are not optional.
func TestOldestRuntime(t *testing.T) {
	h := harness(t)
	_, h.Library = cudahiptest.Libraries(t, "hip", cudahiptest.Optional(symbols)...)
	cudahiptest.Minimal(t, h)
}

// ROCm 5.2 has no hipLaunchHostFunc.
func TestRuntimeWithStreamCallbacks(t *testing.T) {
	h := harness(t)
	_, h.Library = cudahiptest.Libraries(t, "hip", symbols[cudahip.CallHostCall].Name)
	cudahiptest.Run(t, h)
}

func TestIncompleteRuntime(t *testing.T) {
	const needed = "hipMemcpyHtoDAsync"
	h := harness(t)
	_, h.Library = cudahiptest.Libraries(t, "hip", needed)
	cudahiptest.Incomplete(t, h, needed)
}

// BenchmarkPageable compares copies of pageable memory with copies of page-locked memory.
func BenchmarkPageable(b *testing.B) { cudahiptest.Pageable(b, harness(b)) }

// A library that lacks calls which only describe kernels.
func TestFewerCallsForKernels(t *testing.T) {
	h := harness(t)
	_, h.Library = cudahiptest.Libraries(t, "hip", "hipFuncGetAttribute", "hipModuleOccupancyMaxPotentialBlockSize", "hipGetDevicePropertiesR0600")
	cudahiptest.FewerCalls(t, h)
}
