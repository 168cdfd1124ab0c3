//go:build vulkan

package vulkan

import (
	"crypto/sha256"
	"slices"
	"sync"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
)

// mostPushed is the largest number of bytes of push constants that a kernel may have here; every device takes as many. suggested is
// how many threads a block should have: on a GPU several warps, and on a processor a loop that is long enough to pay for its start.
const (
	mostPushed = 128
	suggested  = 256
)

// module is a VkShaderModule, or two of one code.
type module struct {
	shaders
	code *spirv

	mu      sync.Mutex
	kernels []*kernel
}

// Formats implements driver.Loader.
func (d *device) Formats() []driver.Format { return []driver.Format{driver.FormatVulkan} }

// Load makes a module of SPIR-V. What the device lacks, and bytes that are not SPIR-V, are found here: drivers crash on them.
func (d *device) Load(image *driver.Image) (driver.Module, error) {
	const op = "load"
	if image.Format != driver.FormatVulkan {
		return nil, d.refuse(op, driver.ErrUnsupported, "the device does not load %v", image.Format)
	}
	code, problem := readSPIRV(image.Data)
	if problem != "" {
		return nil, d.refuse(op, driver.ErrInvalidArgument, "%s", problem)
	}
	if lacking := code.lacking(&d.plan.features); lacking != "" {
		return nil, d.refuse(op, driver.ErrUnsupported, "%s", lacking)
	}
	m := &module{shaders: shaders{dev: d, sum: sha256.Sum256(image.Data)}, code: code}
	var err error
	if m.shader, err = d.newShader(op, code); err != nil {
		return nil, err
	}
	if d.plan.slots.n > 0 {
		if m.slotted, err = d.newSlotted(op, image.Data, code.entries[0].params); err != nil {
			m.destroy()
			return nil, err
		}
	}
	code.words = nil
	return m, nil
}

// Names implements driver.Module.
func (m *module) Names() []string {
	names := make([]string, len(m.code.entries))
	for i, e := range m.code.entries {
		names[i] = e.name
	}
	return names
}

// Kernel implements driver.Module. The first launch with a size of block compiles the kernel for that size.
func (m *module) Kernel(name string) (driver.Kernel, error) {
	const op = "kernel"
	d := m.dev
	at := slices.IndexFunc(m.code.entries, func(e *entry) bool { return e.name == name })
	if at < 0 {
		return nil, d.refuse(op, driver.ErrNotFound, "no kernel %q", name)
	}
	k := &kernel{shaders: m.shaders, entry: m.code.entries[at]}
	if n := k.entry.pushed; n > min(d.plan.pushed, mostPushed) {
		return nil, d.refuse(op, driver.ErrUnsupported,
			"the parameters of kernel %q take %d bytes; %d is the most for push constants, and "+
				"a structure named %s takes more", name, n, mostPushed, argumentsName)
	}
	limits := &d.info.Compute
	k.info = driver.KernelInfo{Name: name, Params: k.entry.params, Known: true, MaxThreads: limits.MaxThreads, MaxShared: limits.Shared,
		Suggested: min(suggested, limits.MaxThreads)}
	if !m.code.chosen(0) {
		k.info.RequiredBlock = k.entry.size
	}
	if !m.code.chosen(specShared) {
		k.info.MaxShared = 0
	}
	pushed := &pushRange{stages: shaderStageCompute, n: k.entry.pushed}
	info := &layoutCreateInfo{head: head{typeLayoutCreateInfo, nil}}
	if pushed.n > 0 {
		info.ranges, info.pushedRange = 1, unsafe.Pointer(pushed)
	}
	if m.slotted != nil {
		var err error
		if k.set, err = m.slotted.newSet(op, d); err != nil {
			return nil, err
		}
		info.sets, info.setLayouts = 1, unsafe.Pointer(&k.set)
	}
	var st status
	if k.layout, st = d.t.createLayout(d.handle, unsafe.Pointer(info)); st < success {
		k.destroySet()
		return nil, d.fail(op, "vkCreatePipelineLayout", st)
	}
	m.mu.Lock()
	m.kernels = append(m.kernels, k)
	m.mu.Unlock()
	return k, nil
}

// Close implements driver.Module.
func (m *module) Close() error {
	m.dev.settle()
	for _, k := range m.kernels {
		k.close()
	}
	m.destroy()
	return nil
}
