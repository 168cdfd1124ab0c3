//go:build vulkan

package vulkan

import (
	"slices"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	ops "github.com/go-halyard/halyard/internal/spirv"
)

// Mesa's driver for processors loads an element with a constant index once for all threads of a vector from a storage buffer. From an address
// it does so only outside of all conditions and loops. So modules with such loads are loaded twice: as they are, and with the memory of
// parameters in slots, into which push descriptors put storage buffers. The former is for launches whose memory cannot be in slots.

// addSlots makes the VkShaderModule with slots, if the module has some.
func (m *module) addSlots(op string, data []byte) (err error) {
	made, list := ops.Slots(data)
	params := m.code.entries[0].params
	other := func(i int) bool { return i >= len(params) || params[i].Kind != driver.ParamPointer }
	if len(list) == 0 || len(list) > int(min(mostSlots, m.dev.plan.slots.n)) || slices.ContainsFunc(list, other) {
		return nil
	}
	code, problem := readSPIRV(made)
	if problem != "" {
		return m.dev.refuse(op, driver.ErrInvalidArgument, "%s", problem)
	}
	m.inSlots = list
	m.slots, err = m.dev.newShader(op, code)
	return err
}

// newSet makes the layout of the slots. The slot of a parameter has the parameter's index.
func (m *module) newSet(op string) (uintptr, error) {
	d := m.dev
	var bindings []setLayoutBinding
	for _, i := range m.inSlots {
		bindings = append(bindings, setLayoutBinding{binding: uint32(i), kind: storageDescriptor, n: 1, stages: shaderStageCompute})
	}
	info := &setLayoutInfo{head: head{typeSetLayoutCreateInfo, nil}, flags: pushDescriptors, n: uint32(len(bindings)),
		bindings: unsafe.Pointer(&bindings[0])}
	set, st := d.t.createSetLayout(d.handle, unsafe.Pointer(info))
	return set, d.check(op, "vkCreateDescriptorSetLayout", st)
}

// fill puts memory into the slots. It reports whether the driver takes the memory as storage buffers, which reach to the end of the block.
func (x *launch) fill(regions []driver.Region) bool {
	can, in := &x.k.of.dev.plan.slots, x.k.of.inSlots
	for at, i := range in {
		m, ok := regions[i].Mem.(*memory)
		if !ok {
			return false
		}
		off := m.off + regions[i].Off
		if off%can.align != 0 || m.blk.size-off > can.most {
			return false
		}
		x.buffers[at] = descriptorBuffer{m.blk.buffer, off, m.blk.size - off}
		x.writes[at] = descriptorWrite{head: head{typeDescriptorWrite, nil}, binding: uint32(i), n: 1, kind: storageDescriptor,
			buffers: unsafe.Pointer(&x.buffers[at])}
	}
	return true
}
