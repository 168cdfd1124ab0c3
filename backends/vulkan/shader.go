//go:build vulkan

package vulkan

import (
	"crypto/sha256"
	"slices"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	ops "github.com/go-halyard/halyard/internal/spirv"
)

// shaders are what the kernels of a module have in common.
type shaders struct {
	dev     *device
	sum     [sha256.Size]byte // of the code
	shader  uintptr
	slotted *slotted // nil if there is none
}

func (s *shaders) destroy() {
	s.dev.t.destroyShader(s.dev.handle, s.shader)
	if s.slotted != nil {
		s.dev.t.destroyShader(s.dev.handle, s.slotted.shader)
	}
}

// newShader makes a VkShaderModule.
func (d *device) newShader(op string, code *spirv) (uintptr, error) {
	words := code.given(d.plan.modes)
	info := &shaderCreateInfo{head: head{typeShaderCreateInfo, nil}, size: uintptr(4 * len(words)), code: unsafe.Pointer(&words[0])}
	shader, st := d.t.createShader(d.handle, unsafe.Pointer(info))
	return shader, d.check(op, "vkCreateShaderModule", st)
}

// Mesa's driver for processors loads an element with a constant index once for all threads of a vector from a storage buffer. From an address
// it does so only outside of all conditions and loops. So modules with such loads are loaded twice: as they are, and with the memory of
// parameters in slots, into which push descriptors put storage buffers. The former is for launches whose memory cannot be in slots.

// slotted is a VkShaderModule with memory in slots.
type slotted struct {
	shader uintptr
	params []int // those whose memory is in slots; the slot of a parameter has the parameter's index
}

// newSlotted makes it of a module's bytes, or returns nil if the module is to have none.
func (d *device) newSlotted(op string, data []byte, params []driver.Param) (*slotted, error) {
	made, list := ops.Slots(data)
	other := func(i int) bool { return i >= len(params) || params[i].Kind != driver.ParamPointer }
	if len(list) == 0 || len(list) > int(min(mostSlots, d.plan.slots.n)) || slices.ContainsFunc(list, other) {
		return nil, nil
	}
	code, problem := readSPIRV(made)
	if problem != "" {
		return nil, d.refuse(op, driver.ErrInvalidArgument, "%s", problem)
	}
	shader, err := d.newShader(op, code)
	if err != nil {
		return nil, err
	}
	return &slotted{shader, list}, nil
}

// newSet makes the layout of the slots.
func (p *slotted) newSet(op string, d *device) (uintptr, error) {
	var bindings []setLayoutBinding
	for _, i := range p.params {
		bindings = append(bindings, setLayoutBinding{binding: uint32(i), kind: storageDescriptor, n: 1, stages: shaderStageCompute})
	}
	info := &setLayoutInfo{head: head{typeSetLayoutCreateInfo, nil}, flags: pushDescriptors, n: uint32(len(bindings)),
		bindings: unsafe.Pointer(&bindings[0])}
	set, st := d.t.createSetLayout(d.handle, unsafe.Pointer(info))
	return set, d.check(op, "vkCreateDescriptorSetLayout", st)
}
