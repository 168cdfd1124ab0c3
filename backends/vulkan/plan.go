//go:build vulkan

package vulkan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/llvmpipe"
)

// This file decides what is used of a device: its features, extensions, queues and kinds of memory. What the driver reports (facts) and
// what is decided (plan) are plain data, so that tests make them up without a device.

// facts are what the driver reports about a physical device.
type facts struct {
	model    string
	vendor   uint32
	kind     uint32 // VkPhysicalDeviceType
	api      uint32
	driver   string // name and version of the driver, for display
	compiler string // what the driver's compiled code depends on
	uuid     driver.UUID
	pci      string

	extensions map[string]bool
	features   features
	floats     [17]uint32 // VkPhysicalDeviceFloatControlsProperties
	types      []memoryType
	heaps      []memoryHeap
	families   []queueFamily

	maxAllocation uint64  // bytes
	importAlign   uint64  // bytes, of host memory that is imported
	tick          float32 // nanoseconds between two values of a timestamp

	slots          slots     // of storage buffers
	pushed, shared uint32    // bytes of push constants, and of memory that the threads of a block share
	threads        uint32    // of a block
	group, groups  [3]uint32 // threads of a block and blocks of a launch, in each dimension
}

// features are the switches of Vulkan 1.0, 1.1 and 1.2, and what is known of the driver.
type features struct {
	core    [55]uint32
	v11     [12]uint32
	v12     [47]uint32
	rounded uint32
	slots   uint32
}

// options say how a backend uses its devices. Programs get them from the environment. Tests set them, to have backends of both memory
// models at once.
type options struct {
	// Memory is the memory model of every device that the backend opens: "unified" if the host accesses all memory in place,
	// "discrete" if it has to copy from and to the device's. A device that shares the host's memory can be used as a discrete
	// one: it is then reported as simulated, and gives programs a discrete device on any machine. The other way round does not work,
	// and such a device is left out. If Memory is "", the variable HALYARD_VULKAN_MEMORY decides, and if that is not set, the
	// device. With any other text Devices and Open return an error of kind ErrInvalidArgument.
	Memory string

	// Limit is the memory of a simulated discrete device in bytes, 1 GiB if it is 0. Others ignore it.
	Limit uint64

	without string // the value of withoutEnv
}

func (o options) valid() bool {
	return o.Memory == "" || o.Memory == modelUnified || o.Memory == modelDiscrete
}

// feature is one switch. The backend cannot work without those that are required; the others are for kernels, and are switched on
// where the device has them.
type feature struct {
	name     string
	required bool
	at       func(*features) *uint32
}

var wanted = []feature{
	{"timelineSemaphore", true, func(f *features) *uint32 { return &f.v12[37] }},
	{"bufferDeviceAddress", true, func(f *features) *uint32 { return &f.v12[38] }},
	{"variablePointersStorageBuffer", false, func(f *features) *uint32 { return &f.v11[7] }},
	{"variablePointers", false, func(f *features) *uint32 { return &f.v11[8] }},
	{"storagePushConstant16", false, func(f *features) *uint32 { return &f.v11[2] }},
	{"storagePushConstant8", false, func(f *features) *uint32 { return &f.v12[4] }},
	{"shaderFloat64", false, func(f *features) *uint32 { return &f.core[39] }},
	{"shaderInt64", false, func(f *features) *uint32 { return &f.core[40] }},
	{"shaderInt16", false, func(f *features) *uint32 { return &f.core[41] }},
	{"storageBuffer16BitAccess", false, func(f *features) *uint32 { return &f.v11[0] }},
	{"storageBuffer8BitAccess", false, func(f *features) *uint32 { return &f.v12[2] }},
	{"shaderBufferInt64Atomics", false, func(f *features) *uint32 { return &f.v12[5] }},
	{"shaderFloat16", false, func(f *features) *uint32 { return &f.v12[7] }},
	{"shaderInt8", false, func(f *features) *uint32 { return &f.v12[8] }},
	{"scalarBlockLayout", false, func(f *features) *uint32 { return &f.v12[31] }},
	{"vulkanMemoryModel", false, func(f *features) *uint32 { return &f.v12[41] }},
	{"vulkanMemoryModelDeviceScope", false, func(f *features) *uint32 { return &f.v12[42] }},
	{"roundedDivision", false, func(f *features) *uint32 { return &f.rounded }}, // no switch of Vulkan: see roundedDrivers
	{"slots", false, func(f *features) *uint32 { return &f.slots }},             // nor this: see shader.go
}

// roundedDrivers are the numbers (VkDriverId) of drivers that are known to round quotients and roots of float32 correctly. Vulkan allows
// errors of several units in the last place, and NVIDIA's driver makes them: on other drivers kernels correct the results.
var roundedDrivers = []uint32{13} // VK_DRIVER_ID_MESA_LLVMPIPE

// featureNamed returns a feature of the table, nil if it is not there.
func featureNamed(name string) *feature {
	for i := range wanted {
		if wanted[i].name == name {
			return &wanted[i]
		}
	}
	return nil
}

// The device extensions that are used. portabilitySubset must be enabled where a device has it.
const (
	extMemoryHost        = "VK_EXT_external_memory_host"
	extMemoryBudget      = "VK_EXT_memory_budget"
	extPCIBusInfo        = "VK_EXT_pci_bus_info"
	extPortabilitySubset = "VK_KHR_portability_subset"
	extPushDescriptor    = "VK_KHR_push_descriptor"
)

// mostQueues is the number of queues of a device that are used at most.
const mostQueues = 4

// Models of memory, for options.Memory and Info.MemoryModel.
const (
	modelUnified  = "unified"
	modelDiscrete = "discrete"
)

const (
	oldestAPI = 1<<22 | 2<<12 // Vulkan 1.2

	alignment = 256  // bytes, of every allocation
	maxAlign  = 4096 // bytes

	// A simulated discrete device has this much memory, unless options.Limit says otherwise: enough for every check of the suite,
	// little enough to be used up.
	simulatedMemory = 1 << 30 // bytes
)

// slots says which memory a device takes as storage buffers.
type slots struct {
	n     uint32
	most  uint64 // bytes of a buffer
	align uint64 // of its first byte, from the start of a block
}

// mostSlots is the most parameters that are memory.
const mostSlots = 16

// plan is what is used of a device.
type plan struct {
	info       driver.Info
	family     uint32
	queues     int // of the family, that are used
	extensions []string
	features   features
	modes      []floatMode // that kernels are given

	// Indices of memory types, the best first. Which of them a buffer can use is known only when the device is open.
	deviceTypes, hostTypes []uint32

	unified     bool   // the host accesses memory of every kind
	limit       uint64 // bytes of KindDevice memory, or 0 for what the driver gives
	heap        uint32 // of KindDevice memory, if all types are allowed
	importAlign uint64
	slots       slots   // for the memory of parameters; n is 0 if kernels are passed addresses only
	pushed      uint32  // bytes of push constants
	compiler    string  // what compiled code depends on: the device, the driver and its version
	tick        float64 // nanoseconds
	tickMask    uint64
}

// planFor plans the use of a device. problem says why the device cannot be used, or is "".
func planFor(f *facts, ordinal int, opts options) (p *plan, problem string) {
	if f.api < oldestAPI {
		return nil, fmt.Sprintf("%s has Vulkan %s; 1.2 is needed", f.model, version(f.api))
	}
	p = &plan{importAlign: f.importAlign, compiler: f.compiler, modes: f.floatModes()}
	var missing []string
	for _, w := range wanted {
		if slices.Contains(strings.Split(opts.without, ","), w.name) {
			continue
		}
		*w.at(&p.features) = *w.at(&f.features)
		if w.required && *w.at(&f.features) == 0 {
			missing = append(missing, w.name)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Sprintf("%s lacks the features %s", f.model, strings.Join(missing, ", "))
	}
	family, ok := computeFamily(f.families)
	if !ok {
		return nil, fmt.Sprintf("%s has no queue that computes", f.model)
	}
	p.family, p.queues = uint32(family), int(min(f.families[family].n, mostQueues))
	for _, e := range []string{extMemoryHost, extMemoryBudget, extPortabilitySubset} {
		if f.extensions[e] {
			p.extensions = append(p.extensions, e)
		}
	}
	if p.features.slots != 0 && f.extensions[extPushDescriptor] {
		p.extensions, p.slots = append(p.extensions, extPushDescriptor), f.slots
	}
	if problem := p.planMemory(f, opts); problem != "" {
		return nil, problem
	}
	if bits := f.families[family].timestampBits; bits > 0 && f.tick > 0 {
		p.tick, p.tickMask = float64(f.tick), math.MaxUint64>>(64-min(bits, 64))
	}
	p.describe(f, ordinal)
	return p, ""
}

// floatMode is an execution mode of kernels for floats of a width.
type floatMode struct{ mode, capability, bits uint32 }

// floatModes returns the modes that give floats Go's meaning, as far as the device has them. Without them a driver may read subnormal numbers as 0,
// as NVIDIA's does, or leave out operations that matter only for signs of zero, infinities and NaNs. Where a mode may not differ between widths, it
// is for all of them or for none (VkShaderFloatControlsIndependence).
func (f *facts) floatModes() (modes []floatMode) {
	const only32, all = 0, 1
	for _, m := range []struct {
		mode, capability uint32
		at               int // of the switches for 16, 32 and 64 bits
		independence     uint32
	}{
		{4459, 4464, 5, f.floats[0]},  // DenormPreserve
		{4461, 4466, 2, all},          // SignedZeroInfNanPreserve
		{4462, 4467, 11, f.floats[1]}, // RoundingModeRTE
	} {
		on := f.floats[m.at : m.at+3]
		for i, bits := range []uint32{16, 32, 64} {
			free := m.independence == all || m.independence == only32 && bits == 32
			if on[i] != 0 && (free || !slices.Contains(on, 0)) {
				modes = append(modes, floatMode{m.mode, m.capability, bits})
			}
		}
	}
	return modes
}

// computeFamily chooses the queues: those that compute and do not draw, where there are some, because they do not wait for what is drawn.
func computeFamily(families []queueFamily) (best int, ok bool) {
	for i, q := range families {
		if q.n == 0 || q.flags&queueCompute == 0 {
			continue
		}
		if q.flags&queueGraphics == 0 {
			return i, true
		}
		if !ok {
			best, ok = i, true
		}
	}
	return best, ok
}

const memoryOnHost = memoryHostVisible | memoryHostCoherent

// planMemory chooses types of memory.
func (p *plan) planMemory(f *facts, opts options) (problem string) {
	sharesMemory := f.kind == deviceCPU || f.kind == deviceIntegratedGPU
	p.deviceTypes = f.ranked(memoryDeviceLocal, 0, memoryHostVisible)
	if sharesMemory {
		if types := f.ranked(memoryDeviceLocal|memoryOnHost|memoryHostCached, 0, 0); len(types) > 0 {
			p.unified, p.deviceTypes = true, types
		}
	}
	p.hostTypes = f.ranked(memoryOnHost, memoryHostCached, memoryDeviceLocal)
	if len(p.deviceTypes) == 0 || len(p.hostTypes) == 0 {
		return fmt.Sprintf("%s has no memory of its own that is visible to the host", f.model)
	}
	switch {
	case opts.Memory == modelUnified && !p.unified:
		return fmt.Sprintf("%s does not share the host's memory, and the %s memory model is asked for", f.model, modelUnified)
	case opts.Memory == modelDiscrete && p.unified:
		p.unified, p.limit = false, cmp.Or(opts.Limit, simulatedMemory)
		p.info.Simulated = true
	}
	p.heap = f.types[p.deviceTypes[0]].heap
	return ""
}

// ranked returns the indices of the memory types that have all flags of must. Those with the flags of good come first, and those with
// flags of bad last. Among equals, those of larger heaps come first, and then the driver's order decides.
func (f *facts) ranked(must, good, bad uint32) []uint32 {
	var found []uint32
	for i, t := range f.types {
		if t.flags&must == must && t.flags&memoryUnusable == 0 && int(t.heap) < len(f.heaps) {
			found = append(found, uint32(i))
		}
	}
	rank := func(i uint32) (r int) {
		if f.types[i].flags&good != good {
			r++
		}
		if f.types[i].flags&bad != 0 {
			r += 2
		}
		return r
	}
	slices.SortStableFunc(found, func(a, b uint32) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(f.heaps[f.types[b].heap].size, f.heaps[f.types[a].heap].size))
	})
	return found
}

// describe fills in what programs are told.
func (p *plan) describe(f *facts, ordinal int) {
	total := f.heaps[p.heap].size
	if p.limit > 0 {
		total = min(total, p.limit)
		p.limit = total
	}
	i := &p.info
	i.Backend, i.Ordinal = backendName, ordinal
	i.Class = classOf(f.kind)
	i.Model, i.Driver = f.model, fmt.Sprintf("Vulkan %s, %s", version(f.api), f.driver)
	i.Vendor = cmp.Or(vendors[f.vendor], fmt.Sprintf("vendor %#x", f.vendor))
	i.UUID, i.PCI = f.uuid, f.pci
	i.TotalMemory = total
	most := min(total, f.maxAllocation)
	i.MaxAlloc = most - min(most, maxAlign)
	i.Alignment, i.MaxAlign = alignment, maxAlign
	i.SharesHostMemory = p.unified
	i.MemoryModel = modelDiscrete
	if p.unified {
		i.MemoryModel = modelUnified
	}
	if i.Simulated {
		i.Model += " (simulated discrete device)"
		i.UUID = driver.UUID{} // the unified device has the UUID of the hardware
	}
	i.Caps = driver.CapAsyncCopy | driver.CapOrderedPageable | driver.CapGate | driver.CapHostCallback | driver.CapAddress
	p.pushed = f.pushed
	i.Caps |= driver.CapKernels
	i.Compute = driver.Compute{MaxThreads: f.threads, MaxBlock: f.group, MaxGrid: f.groups, Shared: uint64(f.shared),
		Float64: *featureNamed("shaderFloat64").at(&p.features) != 0, Float16: *featureNamed("shaderFloat16").at(&p.features) != 0,
		NoInt64: *featureNamed("shaderInt64").at(&p.features) == 0}
	i.Compute.LoopRounds, i.Compute.Nesting = llvmpipe.Limits(f.model, f.driver)
	if p.tick > 0 {
		i.Caps |= driver.CapTiming
	}
	if f.extensions[extMemoryHost] && f.importAlign > 0 {
		i.Caps |= driver.CapRegister
	}
	if f.extensions[extMemoryBudget] || p.limit > 0 {
		i.Caps |= driver.CapMemInfo
	}
}

func classOf(kind uint32) driver.Class {
	switch kind {
	case deviceCPU:
		return driver.ClassCPU
	case deviceIntegratedGPU, deviceDiscreteGPU, deviceVirtualGPU:
		return driver.ClassGPU
	}
	return driver.ClassAccelerator
}

// vendors are the names of vendors by their numbers: those of PCI-SIG, and from 0x10000 on those of Khronos.
var vendors = map[uint32]string{0x1002: "AMD", 0x1010: "Imagination Technologies", 0x106B: "Apple", 0x10DE: "NVIDIA", 0x13B5: "Arm",
	0x14E4: "Broadcom", 0x1AE0: "Google", 0x5143: "Qualcomm", 0x8086: "Intel", 0x10005: "Mesa"}

// version formats a number of Vulkan's form.
func version(v uint32) string { return fmt.Sprintf("%d.%d.%d", v>>22&0x7f, v>>12&0x3ff, v&0xfff) }
