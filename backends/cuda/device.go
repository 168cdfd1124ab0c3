//go:build cuda

package cuda

import (
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

	// The plain comparison of 32-bit words has no number of its own. A device has it if it has one of these
	// two: waiting for 64-bit words, and waiting with NOR.
	cudahip.AttrWaitValue: {122, 123},
}

// libraries are the names of the driver's library. The one with a version is what the driver
// installs; the plain one belongs to development packages.
func libraries() []string {
	if runtime.GOOS == "windows" {
		return []string{"nvcuda.dll"}
	}
	return []string{"libcuda.so.1", "libcuda.so"}
}
