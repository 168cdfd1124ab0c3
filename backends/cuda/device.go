//go:build cuda

package cuda

import (
	"runtime"

	"github.com/go-halyard/halyard/internal/gpu"
)

// attributes are the numbers of CUdevice_attribute in cuda.h.
var attributes = [gpu.NumAttributes][]int32{
	gpu.AttrIntegrated:        {18},
	gpu.AttrMapHost:           {19},
	gpu.AttrManaged:           {83},
	gpu.AttrConcurrentManaged: {89},
	gpu.AttrRegister:          {99},
	gpu.AttrPools:             {115},
	gpu.AttrPriorities:        {78},

	// What a stream can wait for beyond the plain comparison, which has no number of its own
	// and comes with either: 64-bit words, and NOR.
	gpu.AttrWaitValue: {122, 123},
}

// libraries are the names of the driver's library. The one with a version is what the driver
// installs; the plain one belongs to development packages.
func libraries() []string {
	if runtime.GOOS == "windows" {
		return []string{"nvcuda.dll"}
	}
	return []string{"libcuda.so.1", "libcuda.so"}
}
