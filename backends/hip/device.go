//go:build hip

package hip

import (
	"runtime"

	"github.com/go-halyard/halyard/internal/cudahip"
)

// attributes are the numbers of hipDeviceAttribute_t, which are the same in ROCm 5.2, 5.7, 6.2 and 7.
// Whether existing memory can be page-locked and whether streams have priorities is not queried,
// since some releases do not answer; both are taken to be present.
var attributes = [cudahip.NumAttributes][]int32{
	cudahip.AttrIntegrated:        {16},
	cudahip.AttrMapHost:           {3},
	cudahip.AttrManaged:           {24},
	cudahip.AttrConcurrentManaged: {9},
	cudahip.AttrPools:             {88},
	cudahip.AttrWaitValue:         {10013},
}

// libraries are the names of the runtime's library, newest first.
func libraries() []string {
	if runtime.GOOS == "windows" {
		return []string{"amdhip64_7.dll", "amdhip64_6.dll", "amdhip64.dll"}
	}
	names := []string{"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"}
	for _, n := range names[:len(names):len(names)] {
		names = append(names, "/opt/rocm/lib/"+n)
	}
	return names
}
