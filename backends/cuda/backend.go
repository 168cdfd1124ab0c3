//go:build cuda

package cuda

import (
	"fmt"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/cudahip"
	"github.com/go-halyard/halyard/internal/cudahip/rtc"
)

func init() { driver.Register(New()) }

// New returns a new backend, which shares no loaded library with the registered one.
func New() driver.Backend { return cudahip.NewBackend(vendor()) }

// vendor describes CUDA.
func vendor() *cudahip.Vendor {
	return &cudahip.Vendor{
		Name:      "cuda",
		Label:     "NVIDIA",
		Env:       "HALYARD_CUDA_LIBRARY",
		Libraries: libraries(),
		Binding:   binding,
		Bind:      bind,

		Codes:      codes,
		Attributes: attributes,
		Version:    version,
		Compiler:   rtc.NVRTC,
		HostGates:  true,

		PolledEvents: true, // on an H200 an interrupt at each event slows down short launches (docs/nvidia.md)

		Limits:   limits,
		Arch:     arch,
		Formats:  []driver.Format{driver.FormatCubin, driver.FormatFatbin, driver.FormatPTX},
		Language: driver.LanguageCUDA,

		HostPointers:  func(int32) int32 { return 1 }, // CU_MEMORYTYPE_HOST
		PointerRanges: true,                           // before CUDA 10.2 the attributes are unknown

		LegacyStream: 1, // CU_STREAM_LEGACY

		// The range since the Volta generation; earlier devices have fewer priorities.
		LowPriority: 0, HighPriority: -5,
	}
}

// version formats what cuDriverGetVersion returns: 1000 times the major version and ten
// times the minor.
func version(v int32) string { return fmt.Sprintf("CUDA %d.%d", v/1000, v%1000/10) }
