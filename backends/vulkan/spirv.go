//go:build vulkan

package vulkan

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/hal/driver"
	ops "github.com/go-halyard/halyard/internal/spirv"
)

// This file reads what the backend has to know of a module of SPIR-V: its entry points, their parameters and what the device must be
// able to do. The numbers are those of the SPIR-V specification, version 1.5.
//
// A kernel is an entry point of the model GLCompute. Its parameters are the members of its block of push constants, in order: a
// pointer of the storage class PhysicalStorageBuffer is an address, anything else a value. If the block's only member is a pointer to a
// structure whose name begins with argumentsName, the parameters are the members of that structure. Constants with the SpecId 0, 1 and 2
// are the threads of a block in each dimension; without them the block has the size that the code says. The one with the SpecId 3 is the
// number of bytes that a launch adds to the memory which the threads of a block share. The one with the SpecId 4 is 1 if the device rounds
// quotients and square roots of float32 correctly, and otherwise 0.

const spirvMagic = 0x07230203

// argumentsName begins the name (OpName) of a structure in memory that has a kernel's parameters.
const argumentsName = "halyard.arguments"

const (
	modelGLCompute = 5
	modeLocalSize  = 17
	specShared     = 3
)

// capabilities are what modules may need, with the feature that a device must have for it. "" needs none.
var capabilities = map[uint32]string{
	0: "", 1: "", // Matrix, Shader
	9: "shaderFloat16", 10: "shaderFloat64", 11: "shaderInt64", 12: "shaderBufferInt64Atomics", 22: "shaderInt16", 39: "shaderInt8",
	4433: "storageBuffer16BitAccess", 4435: "storagePushConstant16", 4448: "storageBuffer8BitAccess", 4450: "storagePushConstant8",
	4441: "variablePointersStorageBuffer", 4442: "variablePointers",
	5345: "vulkanMemoryModel", 5346: "vulkanMemoryModelDeviceScope", 5347: "bufferDeviceAddress",
}

const capabilityKernel = 6 // of modules for OpenCL

// spirv is what is known of a module.
type spirv struct {
	words        []uint32
	capabilities []uint32
	entries      []*entry
	specs        []uint32 // the SpecIds of its constants
	points       []uint32 // the functions of all entry points
	behind       int      // words before the end of the last entry point
}

// entry is one kernel.
type entry struct {
	name   string
	size   [3]uint32 // threads of a block, unless they are chosen by specialisation
	params []driver.Param
	at     []uint32 // where each parameter is among the push constants, or in the structure of arguments, in bytes
	bytes  uint32   // of the structure of arguments, or 0 if there is none
	pushed uint32   // bytes of push constants
}

// spirvType is the type, constant or other result that an id names.
type spirvType struct {
	op       ops.Op
	args     []uint32 // of the instruction, without its result
	isArgs   bool     // a structure of arguments, by its name
	stride   uint32
	offsets  map[uint32]uint32 // of members, by index
	constant uint32

	measured    bool
	size, align uint32 // bytes
}

// readSPIRV reads a module. problem says what is wrong with the bytes, or is "".
func readSPIRV(data []byte) (m *spirv, problem string) {
	const header = 5
	if len(data)%4 != 0 || len(data) < 4*header || binary.LittleEndian.Uint32(data) != spirvMagic {
		return nil, fmt.Sprintf("the %d bytes are not a module of SPIR-V", len(data))
	}
	m = &spirv{words: make([]uint32, len(data)/4)}
	for i := range m.words {
		m.words[i] = binary.LittleEndian.Uint32(data[4*i:])
	}
	types := map[uint32]*spirvType{}
	at := func(id uint32) *spirvType {
		if types[id] == nil {
			types[id] = &spirvType{}
		}
		return types[id]
	}
	var entries, modes [][]uint32
	var called []uint32
	functions := map[uint32]bool{}
	var op ops.Op
	for i := header; i < len(m.words); {
		n := int(m.words[i] >> 16)
		op = ops.Op(m.words[i])
		if n == 0 || i+n > len(m.words) {
			return nil, fmt.Sprintf("instruction at word %d of %d has %d words", i, len(m.words), n)
		}
		a := m.words[i+1 : i+n]
		i += n
		if len(a) < leastArgs[op] {
			return nil, fmt.Sprintf("instruction %d at word %d has %d words", op, i-n, n)
		}
		switch op {
		case ops.OpName:
			if name, _, ok := spirvText(a[1:]); ok && strings.HasPrefix(name, argumentsName) {
				at(a[0]).isArgs = true
			}
		case ops.OpCapability:
			m.capabilities = append(m.capabilities, a[0])
		case ops.OpEntryPoint:
			m.points, m.behind = append(m.points, a[1]), i
			if a[0] == modelGLCompute {
				entries = append(entries, a)
			}
		case ops.OpFunction:
			functions[a[1]] = true
		case ops.OpFunctionCall:
			called = append(called, a[2])
		case ops.OpExecutionMode:
			modes = append(modes, a)
		case ops.OpTypeInt, ops.OpTypeFloat, ops.OpTypeVector, ops.OpTypeArray, ops.OpTypeStruct, ops.OpTypePointer:
			t := at(a[0])
			t.op, t.args = op, a[1:]
		case ops.OpConstant, ops.OpVariable:
			t := at(a[1])
			t.op, t.constant = op, a[2]
			t.args = []uint32{a[0]}
		case ops.OpDecorate:
			switch {
			case a[1] == ops.SpecID && len(a) > 2:
				m.specs = append(m.specs, a[2])
			case a[1] == ops.ArrayStride && len(a) > 2:
				at(a[0]).stride = a[2]
			}
		case ops.OpMemberDecorate:
			if a[2] == ops.Offset && len(a) > 3 {
				t := at(a[0])
				if t.offsets == nil {
					t.offsets = map[uint32]uint32{}
				}
				t.offsets[a[1]] = a[3]
			}
		}
	}
	// Drivers crash on modules whose end is missing.
	for _, a := range entries {
		called = append(called, a[1])
	}
	if op != ops.OpFunctionEnd || slices.ContainsFunc(called, func(id uint32) bool { return !functions[id] }) {
		return nil, "the module has no end: functions that it calls are missing"
	}
	for _, a := range entries {
		e, problem := m.entry(a, types)
		if problem != "" {
			return nil, problem
		}
		for _, mode := range modes {
			if mode[0] == a[1] && mode[1] == modeLocalSize && len(mode) == 5 {
				e.size = [3]uint32(mode[2:5])
			}
		}
		m.entries = append(m.entries, e)
	}
	if len(m.entries) == 0 {
		return nil, "the module has no kernel: no entry point of the model GLCompute"
	}
	return m, ""
}

// given returns the module with execution modes for floats. One that says itself how floats behave, or is older than the modes, stays as it is.
func (m *spirv) given(modes []floatMode) []uint32 {
	const header, version14 = 5, 0x10400
	has := func(c uint32) bool { return c >= 4464 && c <= 4468 } // DenormPreserve to RoundingModeRTZ
	if m.words[1] < version14 || slices.ContainsFunc(m.capabilities, has) {
		return m.words
	}
	words := slices.Clone(m.words[:header])
	var behind []uint32
	for i, f := range modes {
		if i == 0 || modes[i-1].capability != f.capability {
			words = append(words, 2<<16|uint32(ops.OpCapability), f.capability)
		}
		for _, point := range m.points {
			behind = append(behind, 4<<16|uint32(ops.OpExecutionMode), point, f.mode, f.bits)
		}
	}
	return slices.Concat(words, m.words[header:m.behind], behind, m.words[m.behind:])
}

// leastArgs is the least number of words behind the first word of an instruction, for the instructions that are read.
var leastArgs = map[ops.Op]int{ops.OpName: 2, ops.OpEntryPoint: 3, ops.OpExecutionMode: 2, ops.OpCapability: 1, ops.OpTypeInt: 3,
	ops.OpTypeFloat:  2,
	ops.OpTypeVector: 3, ops.OpTypeArray: 3, ops.OpTypeStruct: 1, ops.OpTypePointer: 3,
	ops.OpConstant: 3, ops.OpVariable: 3, ops.OpFunction: 4, ops.OpFunctionCall: 3,
	ops.OpDecorate: 2, ops.OpMemberDecorate: 3}

// entry reads an entry point: its name, and the block of push constants among the variables of its interface.
func (m *spirv) entry(a []uint32, types map[uint32]*spirvType) (e *entry, problem string) {
	e = &entry{size: [3]uint32{1, 1, 1}}
	var words []uint32
	var ok bool
	if e.name, words, ok = spirvText(a[2:]); !ok {
		return nil, "the name of an entry point has no end"
	}
	for _, id := range words {
		v := types[id]
		if v == nil || v.op != ops.OpVariable || v.constant != ops.PushConstant {
			continue
		}
		pointer := types[v.args[0]]
		if pointer == nil || pointer.op != ops.OpTypePointer || types[pointer.args[1]] == nil ||
			types[pointer.args[1]].op != ops.OpTypeStruct {
			return nil, fmt.Sprintf("the push constants of kernel %q are no structure", e.name)
		}
		block := types[pointer.args[1]]
		if arguments := argumentsOf(types, block); arguments != nil {
			size, _ := measure(types, block.args[0])
			e.pushed = block.offsets[0] + size
			block = arguments
		}
		for i, member := range block.args {
			off, ok := block.offsets[uint32(i)]
			p := driver.Param{Kind: driver.ParamValue}
			if t := types[member]; t != nil && t.op == ops.OpTypePointer && t.args[0] == ops.PhysicalStorage {
				p.Kind = driver.ParamPointer
			}
			size, _ := measure(types, member)
			if !ok || size == 0 || off > mostBytesOfType {
				return nil, fmt.Sprintf("parameter %d of kernel %q has no size or no place that is known", i, e.name)
			}
			p.Size = size
			e.params, e.at = append(e.params, p), append(e.at, off)
			if block.isArgs {
				e.bytes = max(e.bytes, off+size)
			} else {
				e.pushed = max(e.pushed, off+size)
			}
		}
	}
	e.pushed = (e.pushed + 3) &^ 3
	return e, ""
}

// argumentsOf returns the structure of arguments to which a block of push constants points, or nil.
func argumentsOf(types map[uint32]*spirvType, block *spirvType) *spirvType {
	if len(block.args) != 1 {
		return nil
	}
	pointer := types[block.args[0]]
	if pointer == nil || pointer.op != ops.OpTypePointer || pointer.args[0] != ops.PhysicalStorage {
		return nil
	}
	if t := types[pointer.args[1]]; t != nil && t.op == ops.OpTypeStruct && t.isArgs {
		return t
	}
	return nil
}

// spirvText reads a text at the start of words, and returns the words behind it. ok is false if it has no end.
func spirvText(words []uint32) (text string, rest []uint32, ok bool) {
	var b []byte
	for i, word := range words {
		b = binary.LittleEndian.AppendUint32(b, word)
		if zero := slices.Index(b[4*i:], 0); zero >= 0 {
			return string(b[:4*i+zero]), words[i+1:], true
		}
	}
	return "", nil, false
}

// measure returns the size and the alignment of a type in bytes, as C lays it out, or zeros if they are not known. Each type is measured
// once. A type that contains itself counts as unknown.
func measure(types map[uint32]*spirvType, id uint32) (size, align uint32) {
	t := types[id]
	if t == nil {
		return 0, 0
	}
	if !t.measured {
		t.measured = true
		t.size, t.align = t.measure(types)
		if t.size > mostBytesOfType {
			t.size, t.align = 0, 0
		}
	}
	return t.size, t.align
}

// mostBytesOfType is the size from which on a type counts as unknown. No parameter has as many bytes.
const mostBytesOfType = 1 << 12

func (t *spirvType) measure(types map[uint32]*spirvType) (size, align uint32) {
	switch t.op {
	case ops.OpTypeInt, ops.OpTypeFloat:
		return t.args[0] / 8, t.args[0] / 8
	case ops.OpTypePointer:
		if t.args[0] == ops.PhysicalStorage {
			return 8, 8
		}
	case ops.OpTypeVector:
		size, align = measure(types, t.args[0])
		return min(t.args[1], 16) * size, align
	case ops.OpTypeArray:
		size, align = measure(types, t.args[0])
		length := types[t.args[1]]
		if length == nil || length.op != ops.OpConstant || length.constant > mostBytesOfType {
			return 0, 0
		}
		return length.constant * min(max(size, t.stride), mostBytesOfType), align
	case ops.OpTypeStruct:
		for i, member := range t.args {
			off, ok := t.offsets[uint32(i)]
			n, a := measure(types, member)
			if !ok || n == 0 || off > mostBytesOfType {
				return 0, 0
			}
			size, align = max(size, off+n), max(align, a)
		}
		if align > 0 {
			size = (size + align - 1) / align * align
		}
		return size, align
	}
	return 0, 0
}

// lacking says what the module needs and a device with these features lacks, or "".
func (m *spirv) lacking(have *features) string {
	for _, c := range m.capabilities {
		name, ok := capabilities[c]
		switch {
		case c == capabilityKernel:
			return "the module is for OpenCL"
		case !ok:
			return fmt.Sprintf("the module needs capability %d of SPIR-V, which is not supported", c)
		case name != "" && *featureNamed(name).at(have) == 0:
			return fmt.Sprintf("the module needs %s, which the device lacks", name)
		}
	}
	return ""
}

// chosen reports whether the value of the constants with a SpecId can be chosen.
func (m *spirv) chosen(id uint32) bool { return slices.Contains(m.specs, id) }
