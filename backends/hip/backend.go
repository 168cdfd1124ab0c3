//go:build hip

package hip

import (
	"fmt"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/cudahip"
	"github.com/go-halyard/halyard/internal/cudahip/rtc"
)

func init() { driver.Register(New()) }

// New returns a new backend, which shares no loaded library with the registered one.
func New() driver.Backend { return cudahip.NewBackend(vendor()) }

// vendor describes HIP.
func vendor() *cudahip.Vendor {
	return &cudahip.Vendor{
		Name:      "hip",
		Label:     "AMD",
		Env:       "HALYARD_HIP_LIBRARY",
		Libraries: libraries(),
		Binding:   binding,
		Bind:      bind,

		Codes:      codes,
		Attributes: attributes,
		Version:    version,
		Compiler:   rtc.HIPRTC,

		HostPointers: hostPointers,

		Limits:    limits,
		MaxGlobal: maxGlobal,
		Arch:      arch,
		Formats:   []driver.Format{driver.FormatCodeObject},
		Language:  driver.LanguageHIP,

		LowPriority: 1, HighPriority: -1,
	}
}

// release returns the major version. hipRuntimeGetVersion returns ten million times the
// major version, plus a hundred thousand times the minor version, plus the patch.
func release(v int32) int32 { return v / 10_000_000 }

// hostPointers returns the number of the type of page-locked memory, which changed in ROCm 6. The attribute for the size of an allocation
// has 32 bits in some releases and 64 in others, so it is not queried.
func hostPointers(version int32) int32 {
	if release(version) < 6 {
		return 0
	}
	return 1
}

// version formats what hipRuntimeGetVersion returns.
func version(v int32) string {
	return fmt.Sprintf("HIP %d.%d.%d", release(v), v/100_000%100, v%100_000)
}
