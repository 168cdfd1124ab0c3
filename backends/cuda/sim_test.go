//go:build cuda && linux

package cuda

import (
	"testing"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/cudahip"
	"github.com/go-halyard/halyard/internal/testing/cudahiptest"
)

func harness(t testing.TB) *cudahiptest.Harness {
	t.Helper()
	cuda, _ := cudahiptest.Libraries(t, "cuda")
	return &cudahiptest.Harness{Library: cuda, Env: "HALYARD_CUDA_LIBRARY", New: New, Binding: binding,
		HostGates: true, Retain: "cuDevicePrimaryCtxRetain", PeerEnable: symbols[cudahip.CallPeerEnable].Name,
		Waiting: entry().Outstanding}
}

func TestConformance(t *testing.T) { cudahiptest.Conformance(t, harness(t), codes) }

// Jetson and GB10 are integrated devices. The simulated library also lacks optional calls.
func TestConformanceOfAnIntegratedDevice(t *testing.T) {
	cudahiptest.ConformanceWithout(t, harness(t), codes, cudahiptest.Integrated)
}

func TestSimulated(t *testing.T) { cudahiptest.Run(t, harness(t)) }

// BenchmarkOverhead compares calls of the backend with the driver's own calls through the same
// binding.
func BenchmarkOverhead(b *testing.B) {
	h := harness(b)
	cudahiptest.Overhead(b, h, raw(b, h.Library))
}

func TestPlantedBugs(t *testing.T) {
	cudahiptest.PlantedBugs(t, harness(t), vendor)
}

// A driver as old as the symbols that are not optional.
func TestOldestDriver(t *testing.T) {
	h := harness(t)
	h.Library, _ = cudahiptest.Libraries(t, "cuda", cudahiptest.Optional(symbols)...)
	cudahiptest.Minimal(t, h)
}

func TestIncompleteDriver(t *testing.T) {
	const needed = "cuMemcpyHtoDAsync_v2"
	h := harness(t)
	h.Library, _ = cudahiptest.Libraries(t, "cuda", needed)
	cudahiptest.Incomplete(t, h, needed)
}

// Before CUDA 11.4 the call for the UUID had no second version.
func TestOlderNames(t *testing.T) {
	h := harness(t)
	h.Library, _ = cudahiptest.Libraries(t, "cuda", symbols[cudahip.CallDeviceUUID].Name)
	t.Setenv(h.Env, h.Library)
	infos, err := h.New().Devices(t.Context())
	if err != nil || len(infos) != 2 || infos[0].UUID == (driver.UUID{}) || infos[0].UUID == infos[1].UUID {
		t.Errorf("%+v, %v", infos, err)
	}
}

// BenchmarkPageable compares copies of pageable memory with copies of page-locked memory.
func BenchmarkPageable(b *testing.B) { cudahiptest.Pageable(b, harness(b)) }

// A library that lacks calls which only describe kernels.
func TestFewerCallsForKernels(t *testing.T) {
	h := harness(t)
	h.Library, _ = cudahiptest.Libraries(t, "cuda", "cuFuncGetAttribute", "cuFuncSetAttribute", "cuFuncGetParamInfo", "cuFuncLoad", "cuOccupancyMaxPotentialBlockSize")
	cudahiptest.FewerCalls(t, h)
}
