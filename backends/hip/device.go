//go:build hip

package hip

import (
	"bytes"
	"runtime"

	"github.com/go-halyard/halyard/internal/cudahip"
)

// attributes are the numbers of hipDeviceAttribute_t, which are the same in ROCm 5.2, 5.7, 6.2 and 7. AttrRegister and AttrPriorities have
// no numbers here, since some releases do not answer the query: every device is taken to have them.
var attributes = [cudahip.NumAttributes][]int32{
	cudahip.AttrIntegrated:        {16},
	cudahip.AttrMapHost:           {3},
	cudahip.AttrManaged:           {24},
	cudahip.AttrConcurrentManaged: {9},
	cudahip.AttrPools:             {88},
	cudahip.AttrWaitValue:         {10013},
}

// limits are the numbers of hipDeviceAttribute_t. LimitSharedMost is missing: a kernel can use all shared memory of a
// block without asking for it.
var limits = [cudahip.NumLimits]int32{
	cudahip.LimitThreads: 56,
	cudahip.LimitBlockX:  26,
	cudahip.LimitBlockY:  27,
	cudahip.LimitBlockZ:  28,
	cudahip.LimitGridX:   29,
	cudahip.LimitGridY:   30,
	cudahip.LimitGridZ:   31,
	cudahip.LimitShared:  74,
	cudahip.LimitWarp:    87,
	cudahip.LimitUnits:   63,
}

// maxGlobal is the largest number of threads of a launch in one dimension. HIP requires fewer than 2^32.
const maxGlobal = 1<<32 - 1

const (
	propertiesSize = 16 << 10 // bytes; hipDeviceProp_t has 792 or 1472, depending on the release
	nameSize       = 256      // bytes; the structure begins with the device's name
)

// arch returns the architecture without its optional features: "gfx90a" for "gfx90a:sramecc+:xnack-". No attribute holds the name.
// It is in the structure of all properties, at a place that differs from release to release, so it is found by its prefix. Float16
// arithmetic exists since gfx8.
func arch(api cudahip.API, dev int32) (name string, float64, float16 bool) {
	if !api.Has(cudahip.CallDeviceProperties) {
		return "", true, false
	}
	p := make([]byte, propertiesSize)
	if api.DeviceProperties(p, dev) != cudahip.Success {
		return "", true, false
	}
	name = findArch(p[nameSize:])
	return name, true, len(name) > len("gfx000") || name > "gfx800"
}

func findArch(p []byte) string {
	const prefix = "gfx"
	for {
		i := bytes.Index(p, []byte(prefix))
		if i < 0 {
			return ""
		}
		n := i + len(prefix)
		for n < len(p) && (p[n] >= '0' && p[n] <= '9' || p[n] >= 'a' && p[n] <= 'f') {
			n++
		}
		if n-i >= len("gfx000") && n < len(p) && (p[n] == 0 || p[n] == ':') {
			return string(p[i:n])
		}
		p = p[i+1:]
	}
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
