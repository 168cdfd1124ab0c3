//go:build vulkan

package vulkan

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/dl"
	"github.com/go-halyard/halyard/internal/siglib"
)

// instance is a VkInstance. It lives as long as the program, like the library: it reserves nothing on any device.
type instance struct {
	t      *table
	handle uintptr

	mu       sync.Mutex
	physical []physical // once they are known
}

// physical is a device of the machine, which is not open.
type physical struct {
	handle uintptr
	facts  *facts
}

// extPortability lists devices that do not offer all of Vulkan, such as those of macOS.
const extPortability = "VK_KHR_portability_enumeration"

func newInstance(op string, t *table) (*instance, error) {
	api, st := t.instanceVersion()
	if st < success {
		return nil, failure(op, -1, "vkEnumerateInstanceVersion", st)
	}
	if api < oldestAPI {
		return nil, refusal(op, -1, driver.ErrUnavailable, "the Vulkan loader has version %s; 1.2 is needed", version(api))
	}
	have, st := extensionsOf(func(n, to unsafe.Pointer) status { return t.instanceExtensions(n, to) })
	if st < success {
		return nil, failure(op, -1, "vkEnumerateInstanceExtensionProperties", st)
	}
	name := dl.CString("halyard")
	app := &applicationInfo{head: head{typeApplicationInfo, nil}, name: unsafe.Pointer(&name[0]), engine: unsafe.Pointer(&name[0]),
		api: oldestAPI}
	info := &instanceCreateInfo{head: head{typeInstanceCreateInfo, nil}, application: unsafe.Pointer(app)}
	var enabled nameList
	if have[extPortability] {
		enabled.add(extPortability)
		info.flags = enumeratePortability
	}
	info.extensions, info.extensionNames = enabled.len(), enabled.address()
	siglib.Enter() // drivers that compile for processors replace signal handlers when they are loaded
	defer siglib.Leave()
	handle, st := t.createInstance(unsafe.Pointer(info))
	if st < success {
		return nil, failure(op, -1, "vkCreateInstance", st)
	}
	return &instance{t: t, handle: handle}, nil
}

// devices returns all devices. The drivers are asked once: a device that is added while the program runs is not found.
func (in *instance) devices(op string) ([]physical, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.physical != nil {
		return in.physical, nil
	}
	siglib.Enter()
	defer siglib.Leave()
	for {
		n := new(uint32)
		st := in.t.physicalDevices(in.handle, unsafe.Pointer(n), nil)
		if st < success {
			return nil, failure(op, -1, "vkEnumeratePhysicalDevices", st)
		}
		ids := make([]uintptr, *n)
		if *n > 0 {
			if st = in.t.physicalDevices(in.handle, unsafe.Pointer(n), ids); st == incomplete {
				continue // there are more by now
			}
		}
		if st < success {
			return nil, failure(op, -1, "vkEnumeratePhysicalDevices", st)
		}
		all := make([]physical, 0, len(ids))
		for _, id := range ids[:min(int(*n), len(ids))] {
			f, st := in.ask(id)
			if st < success {
				return nil, failure(op, -1, "vkEnumerateDeviceExtensionProperties", st)
			}
			all = append(all, physical{id, f})
		}
		in.physical = all
		return all, nil
	}
}

// ask asks a driver everything about a device. Structures of extensions, and of versions after 1.1, are passed only where the device
// has them: others may not be given to it.
func (in *instance) ask(id uintptr) (*facts, status) {
	t := in.t
	f := &facts{}
	var st status
	f.extensions, st = extensionsOf(func(n, to unsafe.Pointer) status { return t.deviceExtensions(id, n, to) })
	if st < success {
		return nil, st
	}
	maintenance := &maintenance3Properties{head: head{typeMaintenance3, nil}}
	ids := &idProperties{head: head{typeIDProperties, unsafe.Pointer(maintenance)}}
	p := &properties2{head: head{typeProperties2, unsafe.Pointer(ids)}}
	t.properties(id, unsafe.Pointer(p)) // first, because it says which version the device has
	names := &driverProperties{head: head{typeDriverProperties, nil}}
	if p.api >= oldestAPI {
		pci := &pciBusInfo{head: head{typePCIBusInfo, nil}}
		host := &externalMemoryHost{head: head{typeExternalMemoryHost, nil}}
		floats := &floatControls{head: head{typeFloatControls, unsafe.Pointer(names)}}
		maintenance.next = unsafe.Pointer(floats)
		last := &names.next
		if f.extensions[extPCIBusInfo] {
			*last, last = unsafe.Pointer(pci), &pci.next
		}
		if f.extensions[extMemoryHost] {
			*last = unsafe.Pointer(host)
		}
		t.properties(id, unsafe.Pointer(p))
		f.importAlign, f.floats = host.align, floats.on
		if f.extensions[extPCIBusInfo] {
			f.pci = fmt.Sprintf("%04x:%02x:%02x.%x", pci.domain, pci.bus, pci.dev, pci.fun)
		}
		v12 := &features12{head: head{typeFeatures12, nil}}
		v11 := &features11{head: head{typeFeatures11, unsafe.Pointer(v12)}}
		core := &features2{head: head{typeFeatures2, unsafe.Pointer(v11)}}
		t.features(id, unsafe.Pointer(core))
		f.features = features{core: core.on, v11: v11.on, v12: v12.on}
		if slices.Contains(roundedDrivers, names.id) {
			f.features.rounded = 1
		}
	}
	f.model, f.vendor, f.kind, f.api = textOf(p.name[:]), p.vendor, p.kind, p.api
	f.driver = strings.TrimSpace(textOf(names.name[:]) + " " + textOf(names.info[:]))
	f.compiler = fmt.Sprintf("%x %x %x %x %s", p.cacheUUID, p.vendor, p.device, p.driverVersion, f.driver)
	f.uuid, f.maxAllocation = driver.UUID(ids.device), maintenance.maxAllocation
	f.tick = *(*float32)(p.limit(limitTimestampPeriod))
	f.pushed, f.shared = *(*uint32)(p.limit(limitPushConstants)), *(*uint32)(p.limit(limitShared))
	f.groups, f.group = *(*[3]uint32)(p.limit(limitGroups)), *(*[3]uint32)(p.limit(limitGroup))
	f.threads = *(*uint32)(p.limit(limitThreads))
	if strings.HasPrefix(f.model, "llvmpipe") {
		f.features.slots = 1
	}
	f.slots = slots{*(*uint32)(p.limit(limitStorageBuffers)), uint64(*(*uint32)(p.limit(limitStorageRange))),
		*(*uint64)(p.limit(limitStorageAlignment))}

	m := &memoryProperties2{head: head{typeMemoryProperties2, nil}}
	t.memoryProperties(id, unsafe.Pointer(m))
	f.types = append(f.types, m.typeOf[:min(int(m.types), len(m.typeOf))]...)
	f.heaps = append(f.heaps, m.heapsOf[:min(int(m.heaps), len(m.heapsOf))]...)

	n := new(uint32)
	t.queueFamilies(id, unsafe.Pointer(n), nil)
	if *n > 0 {
		f.families = make([]queueFamily, *n)
		t.queueFamilies(id, unsafe.Pointer(n), unsafe.Pointer(&f.families[0]))
		f.families = f.families[:min(int(*n), len(f.families))]
	}
	return f, success
}

// Where the limits that the backend reads are in VkPhysicalDeviceLimits, in bytes.
const (
	limitStorageRange     = 28  // maxStorageBufferRange
	limitPushConstants    = 32  // maxPushConstantsSize
	limitStorageBuffers   = 76  // maxPerStageDescriptorStorageBuffers
	limitShared           = 216 // maxComputeSharedMemorySize
	limitGroups           = 220 // maxComputeWorkGroupCount, three numbers
	limitThreads          = 232 // maxComputeWorkGroupInvocations
	limitGroup            = 236 // maxComputeWorkGroupSize, three numbers
	limitStorageAlignment = 328 // minStorageBufferOffsetAlignment, a uint64
	limitTimestampPeriod  = 424 // timestampPeriod, a float32
)

func (p *properties2) limit(at uintptr) unsafe.Pointer {
	return unsafe.Add(unsafe.Pointer(&p.limits), at)
}

// budget returns how much of a heap the process may use, and how much it uses.
func (in *instance) budget(id uintptr, heap uint32) (budget, used uint64) {
	b := &memoryBudget{head: head{typeMemoryBudget, nil}}
	m := &memoryProperties2{head: head{typeMemoryProperties2, unsafe.Pointer(b)}}
	in.t.memoryProperties(id, unsafe.Pointer(m))
	return b.budget[heap], b.usage[heap]
}
