//go:build vulkan

package vulkan

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// The sizes of the structures in vulkan_core.h, as a C compiler lays them out.
func TestLayouts(t *testing.T) {
	for _, s := range []struct {
		name      string
		got, want uintptr
	}{
		{"VkApplicationInfo", unsafe.Sizeof(applicationInfo{}), 48},
		{"VkInstanceCreateInfo", unsafe.Sizeof(instanceCreateInfo{}), 64},
		{"VkDeviceQueueCreateInfo", unsafe.Sizeof(queueCreateInfo{}), 40},
		{"VkDeviceCreateInfo", unsafe.Sizeof(deviceCreateInfo{}), 72},
		{"VkExtensionProperties", unsafe.Sizeof(extensionProperties{}), 260},
		{"VkPhysicalDeviceProperties2", unsafe.Sizeof(properties2{}), 840},
		{"limits", unsafe.Offsetof(properties2{}.limits), 16 + 296},
		{"VkPhysicalDeviceDriverProperties", unsafe.Sizeof(driverProperties{}), 536},
		{"VkPhysicalDeviceFloatControlsProperties", unsafe.Sizeof(floatControls{}), 88},
		{"VkPhysicalDeviceIDProperties", unsafe.Sizeof(idProperties{}), 64},
		{"VkPhysicalDevicePCIBusInfoPropertiesEXT", unsafe.Sizeof(pciBusInfo{}), 32},
		{"VkPhysicalDeviceMaintenance3Properties", unsafe.Sizeof(maintenance3Properties{}), 32},
		{"VkPhysicalDeviceExternalMemoryHostPropertiesEXT", unsafe.Sizeof(externalMemoryHost{}), 24},
		{"VkPhysicalDeviceFeatures2", unsafe.Sizeof(features2{}), 240},
		{"VkPhysicalDeviceVulkan11Features", unsafe.Sizeof(features11{}), 64},
		{"VkPhysicalDeviceVulkan12Features", unsafe.Sizeof(features12{}), 208},
		{"VkPhysicalDeviceMemoryProperties2", unsafe.Sizeof(memoryProperties2{}), 536},
		{"VkPhysicalDeviceMemoryBudgetPropertiesEXT", unsafe.Sizeof(memoryBudget{}), 272},
		{"VkQueueFamilyProperties", unsafe.Sizeof(queueFamily{}), 24},
		{"VkBufferCreateInfo", unsafe.Sizeof(bufferCreateInfo{}), 56},
		{"VkExternalMemoryBufferCreateInfo", unsafe.Sizeof(externalBufferInfo{}), 24},
		{"VkMemoryAllocateInfo", unsafe.Sizeof(memoryAllocateInfo{}), 32},
		{"VkMemoryAllocateFlagsInfo", unsafe.Sizeof(allocateFlagsInfo{}), 24},
		{"VkImportMemoryHostPointerInfoEXT", unsafe.Sizeof(importHostPointer{}), 32},
		{"VkMemoryHostPointerPropertiesEXT", unsafe.Sizeof(hostPointerProperties{}), 24},
		{"VkMemoryRequirements", unsafe.Sizeof(requirements{}), 24},
		{"VkBufferDeviceAddressInfo", unsafe.Sizeof(bufferAddressInfo{}), 24},
		{"VkCommandPoolCreateInfo", unsafe.Sizeof(commandPoolInfo{}), 24},
		{"VkCommandBufferAllocateInfo", unsafe.Sizeof(commandBufferInfo{}), 32},
		{"VkCommandBufferBeginInfo", unsafe.Sizeof(commandBufferBegin{}), 32},
		{"VkMemoryBarrier", unsafe.Sizeof(memoryBarrier{}), 24},
		{"VkBufferCopy", unsafe.Sizeof(bufferCopy{}), 24},
		{"VkSubmitInfo", unsafe.Sizeof(submitInfo{}), 72},
		{"VkTimelineSemaphoreSubmitInfo", unsafe.Sizeof(timelineSubmitInfo{}), 48},
		{"VkSemaphoreCreateInfo", unsafe.Sizeof(semaphoreCreateInfo{}), 24},
		{"VkSemaphoreTypeCreateInfo", unsafe.Sizeof(semaphoreType{}), 32},
		{"VkSemaphoreWaitInfo", unsafe.Sizeof(semaphoreWaitInfo{}), 40},
		{"VkQueryPoolCreateInfo", unsafe.Sizeof(queryPoolInfo{}), 32},
		{"VkShaderModuleCreateInfo", unsafe.Sizeof(shaderCreateInfo{}), 40},
		{"VkPipelineLayoutCreateInfo", unsafe.Sizeof(layoutCreateInfo{}), 48},
		{"VkPushConstantRange", unsafe.Sizeof(pushRange{}), 12},
		{"VkSpecializationMapEntry", unsafe.Sizeof(specializationEntry{}), 16},
		{"VkSpecializationInfo", unsafe.Sizeof(specialization{}), 32},
		{"VkPipelineShaderStageCreateInfo", unsafe.Sizeof(stageCreateInfo{}), 48},
		{"VkComputePipelineCreateInfo", unsafe.Sizeof(pipelineCreateInfo{}), 96},
	} {
		if s.got != s.want {
			t.Errorf("%s: %d bytes, want %d", s.name, s.got, s.want)
		}
	}
}

// madeUp are the facts of a device of a kind, with memory of types: each a set of flags, in the heap of its index.
func madeUp(kind uint32, types ...memoryType) *facts {
	f := &facts{model: "made up", kind: kind, api: 1<<22 | 3<<12 | 7, maxAllocation: 2 << 30, tick: 1,
		extensions: map[string]bool{}, types: types, families: []queueFamily{{flags: queueGraphics | queueCompute, n: 1, timestampBits: 64}}}
	for range types {
		f.heaps = append(f.heaps, memoryHeap{size: 8 << 30})
	}
	for _, w := range wanted {
		*w.at(&f.features) = 1
	}
	return f
}

const (
	local      = memoryDeviceLocal
	onHost     = memoryOnHost
	cachedHost = memoryOnHost | memoryHostCached
)

func TestPlanOfMemory(t *testing.T) {
	for _, c := range []struct {
		what         string
		kind         uint32
		types        []memoryType
		opts         options
		unified      bool
		device, host uint32 // the best types
		problem      string
	}{
		{"a card", deviceDiscreteGPU, []memoryType{{local, 0}, {onHost, 1}, {cachedHost, 1}}, options{}, false, 0, 2, ""},
		{"a card whose memory the host sees", deviceDiscreteGPU, []memoryType{{local | onHost, 0}, {local, 0}, {cachedHost, 1}}, options{},
			false, 1, 2, ""},
		{"a card of a processor's memory", deviceCPU, []memoryType{{local | cachedHost, 0}}, options{}, true, 0, 0, ""},
		{"graphics in a processor", deviceIntegratedGPU, []memoryType{{local, 0}, {local | onHost, 0}, {local | cachedHost, 0}}, options{},
			true, 2, 2, ""},
		{"graphics in a processor without cached memory", deviceIntegratedGPU, []memoryType{{local | onHost, 0}, {cachedHost, 1}}, options{},
			false, 0, 1, ""},
		{"the same as a discrete device", deviceCPU, []memoryType{{local | cachedHost, 0}}, options{Memory: modelDiscrete}, false, 0, 0, ""},
		{"a card, as one", deviceDiscreteGPU, []memoryType{{local, 0}, {cachedHost, 1}}, options{Memory: modelDiscrete}, false, 0, 1, ""},
		{"a card as unified", deviceDiscreteGPU, []memoryType{{local, 0}, {cachedHost, 1}}, options{Memory: modelUnified},
			false, 0, 0, "does not share the host's memory"},
		{"protected memory first", deviceDiscreteGPU, []memoryType{{local | 0x20, 0}, {local, 0}, {cachedHost, 1}}, options{}, false, 1, 2, ""},
		{"memory that must be flushed", deviceCPU, []memoryType{{local | memoryHostVisible, 0}}, options{},
			false, 0, 0, "no memory of its own that is visible"},
		{"no memory", deviceCPU, nil, options{}, false, 0, 0, "no memory of its own"},
		{"a heap that does not exist", deviceCPU, []memoryType{{local | cachedHost, 7}}, options{}, false, 0, 0, "no memory of its own"},
	} {
		t.Run(c.what, func(t *testing.T) {
			p, problem := planFor(madeUp(c.kind, c.types...), 0, c.opts)
			if !strings.Contains(problem, c.problem) || (problem != "") != (c.problem != "") {
				t.Fatalf("problem %q, want %q", problem, c.problem)
			}
			if problem != "" {
				return
			}
			if p.unified != c.unified || p.info.SharesHostMemory != c.unified || p.deviceTypes[0] != c.device || p.hostTypes[0] != c.host {
				t.Errorf("unified %t, types %v and %v", p.unified, p.deviceTypes, p.hostTypes)
			}
			simulated := c.opts.Memory == modelDiscrete && c.kind == deviceCPU
			if p.info.Simulated != simulated || strings.Contains(p.info.Model, "simulated") != simulated || (p.limit > 0) != simulated {
				t.Errorf("simulated %t, model %q, limit %d", p.info.Simulated, p.info.Model, p.limit)
			}
		})
	}
}

func TestPlanOfFeatures(t *testing.T) {
	card := func() *facts { return madeUp(deviceDiscreteGPU, memoryType{local, 0}, memoryType{cachedHost, 1}) }
	for what, c := range map[string]struct {
		change  func(*facts)
		problem string
	}{
		"old":                     {func(f *facts) { f.api = 1<<22 | 1<<12 | 9 }, "has Vulkan 1.1.9; 1.2 is needed"},
		"without what is needed":  {func(f *facts) { f.features = features{} }, "lacks the features timelineSemaphore, bufferDeviceAddress"},
		"without addresses":       {func(f *facts) { f.features.v12[38] = 0 }, "lacks the features bufferDeviceAddress"},
		"without queues":          {func(f *facts) { f.families = nil }, "no queue that computes"},
		"with queues that draw":   {func(f *facts) { f.families[0].flags = queueGraphics }, "no queue that computes"},
		"with a family of none":   {func(f *facts) { f.families[0].n = 0 }, "no queue that computes"},
		"without what is no need": {func(f *facts) { f.features.core = [55]uint32{} }, ""},
	} {
		f := card()
		c.change(f)
		if p, problem := planFor(f, 0, options{}); !strings.Contains(problem, c.problem) || (p == nil) != (c.problem != "") {
			t.Errorf("%s: %q, want %q", what, problem, c.problem)
		} else if p != nil && p.info.Compute.NoInt64 != (f.features.core[40] == 0) {
			t.Errorf("%s: without 64-bit integers: %t", what, p.info.Compute.NoInt64)
		}
	}

	f := card()
	f.features.core[39] = 0 // shaderFloat64
	f.features.core[3] = 1  // what nobody asks for
	f.extensions = map[string]bool{extMemoryHost: true, extPortabilitySubset: true, "VK_KHR_swapchain": true}
	f.importAlign = 4096
	f.families = append(f.families, queueFamily{flags: 0x4, n: 2}, queueFamily{flags: queueCompute, n: 8, timestampBits: 36})
	p, problem := planFor(f, 0, options{})
	if problem != "" {
		t.Fatal(problem)
	}
	if p.features.core[39] != 0 || p.features.core[40] != 1 || p.features.core[3] != 0 {
		t.Errorf("features of Vulkan 1.0: %v", p.features.core)
	}
	if want := []string{extMemoryHost, extPortabilitySubset}; !slices.Equal(p.extensions, want) {
		t.Errorf("extensions %v, want %v", p.extensions, want)
	}
	if p.family != 2 || p.tickMask != 1<<36-1 {
		t.Errorf("queues of family %d, times of mask %#x", p.family, p.tickMask)
	}
	if !p.info.Caps.Has(driver.CapRegister|driver.CapTiming) || p.info.Caps.Has(driver.CapMemInfo) {
		t.Errorf("abilities: %v", p.info.Caps)
	}
	f.importAlign, f.families[2].timestampBits = 0, 0
	f.extensions[extMemoryBudget] = true
	p, _ = planFor(f, 0, options{})
	if c := p.info.Caps; c.Has(driver.CapRegister) || c.Has(driver.CapTiming) || !c.Has(driver.CapMemInfo) {
		t.Errorf("abilities: %v", c)
	}
}

// Fills of any offset, length and pattern give what the pattern says, with commands that only know words.
func TestPlanOfFills(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		p := driver.Pattern{Bits: rng.Uint64(), Width: 1 << rng.IntN(4)}
		off, n := uint64(rng.IntN(16)), uint64(p.Width)*uint64(1+rng.IntN(9))
		got, want := make([]byte, off+n+8), make([]byte, off+n+8)
		for i := range n {
			want[off+i] = byte(p.Bits >> (8 * (i % uint64(p.Width))))
		}
		f := planFill(off, n, p)
		for _, e := range f.edges[:f.n] {
			got[e.off] = e.value
		}
		if f.size > 0 && f.off%4 != 0 || f.size%4 != 0 {
			t.Fatalf("%d bytes at %d: words from %d, %d bytes", n, off, f.off, f.size)
		}
		for i := range f.size {
			got[f.off+i] = byte(f.words[i/4%2] >> (8 * (i % 4)))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%d bytes at %d of %+v:\n% x\n% x", n, off, p, got, want)
		}
	}
}

// Floats keep their meaning for the widths for which the device can say so. Widths that may not differ are all asked for or none.
func TestFloatModes(t *testing.T) {
	const preserve, signed, even = 4459, 4461, 4462
	for _, c := range []struct {
		what string
		on   [17]uint32
		want []floatMode
	}{
		{"nothing is known", [17]uint32{}, nil},
		{"each width for itself", [17]uint32{1, 1, 0, 1, 1, 0, 1, 1, 1, 1, 1, 0, 1, 0}, []floatMode{{preserve, 4464, 32}, {preserve, 4464, 64}, {signed, 4466, 32}, {signed, 4466, 64}, {even, 4467, 32}}},
		{"32 bits for themselves", [17]uint32{0, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 0, 0, 1}, []floatMode{{preserve, 4464, 32}, {signed, 4466, 64}}},
		{"all or none, and one lacks", [17]uint32{2, 2, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 1}, []floatMode{{even, 4467, 16}, {even, 4467, 32}, {even, 4467, 64}}},
	} {
		if got := (&facts{floats: c.on}).floatModes(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}
