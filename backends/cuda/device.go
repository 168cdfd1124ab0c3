//go:build cuda

package cuda

import (
	"fmt"
	"runtime"

	"github.com/go-halyard/halyard/internal/cudahip"
)

// attributes are the numbers of CUdevice_attribute in cuda.h.
var attributes = [cudahip.NumAttributes][]int32{
	cudahip.AttrIntegrated:        {18},
	cudahip.AttrMapHost:           {19},
	cudahip.AttrManaged:           {83},
	cudahip.AttrConcurrentManaged: {89},
	cudahip.AttrRegister:          {99},
	cudahip.AttrPools:             {115},
	cudahip.AttrPriorities:        {78},

	// No attribute says whether a device can wait for a 32-bit word by a plain comparison. It can if it has
	// one of these two: waiting for 64-bit words, and waiting with NOR.
	cudahip.AttrWaitValue: {122, 123},
}

// limits are the numbers of CUdevice_attribute in cuda.h.
var limits = [cudahip.NumLimits]int32{
	cudahip.LimitThreads:    1,
	cudahip.LimitBlockX:     2,
	cudahip.LimitBlockY:     3,
	cudahip.LimitBlockZ:     4,
	cudahip.LimitGridX:      5,
	cudahip.LimitGridY:      6,
	cudahip.LimitGridZ:      7,
	cudahip.LimitShared:     8,
	cudahip.LimitSharedMost: 97,
	cudahip.LimitWarp:       10,
	cudahip.LimitUnits:      16,
}

// The attributes that are the two parts of the compute capability.
const (
	capabilityMajor = 75
	capabilityMinor = 76
)

// arch names the compute capability, as in "sm_90". Float16 arithmetic exists since 5.3. All devices that drivers still support have
// float64 arithmetic.
func arch(api cudahip.API, dev int32) (name string, float64, float16 bool) {
	major, code := api.DeviceAttribute(capabilityMajor, dev)
	if code != cudahip.Success {
		return "", true, false
	}
	minor, code := api.DeviceAttribute(capabilityMinor, dev)
	if code != cudahip.Success {
		return "", true, major > 5
	}
	return fmt.Sprintf("sm_%d%d", major, minor), true, major > 5 || major == 5 && minor >= 3
}

// libraries returns the names of the driver's library. The driver installs the name with a version;
// the name without one belongs to development packages.
func libraries() []string {
	if runtime.GOOS == "windows" {
		return []string{"nvcuda.dll"}
	}
	return []string{"libcuda.so.1", "libcuda.so"}
}
