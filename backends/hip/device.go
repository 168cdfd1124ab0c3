//go:build hip

package hip

import (
	"bytes"
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

// limits are the numbers of hipDeviceAttribute_t. A kernel need not ask for more shared memory than it gets by itself.
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

// maxGlobal is the most threads of a launch in one dimension: fewer than 2^32.
const maxGlobal = 1<<32 - 1

const (
	propertiesSize = 16 << 10 // bytes; hipDeviceProp_t has had 792 and 1472
	nameSize       = 256      // bytes of the device's name, with which it begins
)

// arch returns the architecture, without what can be switched on and off in it: "gfx90a" for "gfx90a:sramecc+:xnack-". No attribute
// holds it, only the structure of all properties, in which its place differs from release to release: it is found by its prefix.
// Arithmetic on float16 came with gfx8.
func arch(api cudahip.API, dev int32) (name string, float64, float16 bool) {
	if !api.Has(cudahip.CallDeviceProperties) {
		return "", true, false
	}
	p := make([]byte, propertiesSize)
	if api.DeviceProperties(dev, p) != cudahip.Success {
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
