//go:build hip && linux

package hip

import (
	"testing"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/gpu"

	"github.com/go-halyard/halyard/internal/gpu/gputest"
)

func harness(t testing.TB) *gputest.Harness {
	t.Helper()
	_, hip := gputest.Libraries(t, "hip")
	return &gputest.Harness{Library: hip, Env: "HALYARD_HIP_LIBRARY", New: New, Binding: binding}
}

func TestConformance(t *testing.T) { gputest.Conformance(t, harness(t), codes) }

func TestSimulated(t *testing.T) { gputest.Run(t, harness(t)) }

func BenchmarkOverhead(b *testing.B) {
	h := harness(b)
	lib, err := dl.Open("", h.Library)
	if err != nil {
		b.Fatal(err)
	}
	proc := func(c gpu.Call) dl.Proc { return lib.Proc(symbols[c].Name) }
	copyIn, fill, record, query := proc(gpu.CallCopyIn), proc(gpu.CallFill8), proc(gpu.CallEventRecord), proc(gpu.CallStreamQuery)
	gputest.Overhead(b, h, gputest.Raw{
		Current: func() { proc(gpu.CallMakeCurrent).Call1(0) },
		CopyIn:  func(dst, host, n, stream uintptr) { copyIn.Call4(dst, host, n, stream) },
		Fill:    func(dst uintptr, v uint8, n, stream uintptr) { fill.Call4(dst, uintptr(v), n, stream) },
		Record:  func(event, stream uintptr) { record.Call2(event, stream) },
		Query:   func(stream uintptr) { query.Call1(stream) },
	})
}

func TestPlantedBugs(t *testing.T) {
	gputest.PlantedBugs(t, harness(t), codes, func(plant func(gpu.API) gpu.API) driver.Backend {
		return gpu.NewBackend(vendor(plant))
	})
}
