// Package build builds modules of SPIR-V 1.5 for Vulkan, prints them, and packs them for generated files.
//
// A [Module] makes each type and each constant once, and numbers ids in the order in which they are asked for, so that the same calls give
// the same words. Its kernels are entry points of the model GLCompute. They reach buffers by address (PhysicalStorageBuffer64), without
// descriptor sets.
package build

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/go-halyard/halyard/internal/spirv"
)

// Module is a module that is being built.
type Module struct {
	last         spirv.ID
	capabilities []uint32
	imported     spirv.ID // GLSL.std.450
	entries      []uint32
	modes        []uint32
	names        []uint32
	decorations  []uint32
	globals      []uint32 // types, constants and variables
	functions    []uint32
	made         map[string]spirv.ID // types and constants, by their instruction
}

// New returns an empty module.
func New() *Module {
	m := &Module{made: map[string]spirv.ID{}}
	m.Need(Shader)
	m.Need(PhysicalStorageAddress)
	return m
}

// ID returns a new id.
func (m *Module) ID() spirv.ID {
	m.last++
	return m.last
}

// Need declares a capability.
func (m *Module) Need(capability uint32) {
	if !m.Needs(capability) {
		m.capabilities = append(m.capabilities, capability)
	}
}

// Needs reports whether a capability is declared.
func (m *Module) Needs(capability uint32) bool { return slices.Contains(m.capabilities, capability) }

// text returns the words of a text.
func text(s string) (words []uint32) {
	b := append([]byte(s), 0)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	for ; len(b) > 0; b = b[4:] {
		words = append(words, binary.LittleEndian.Uint32(b))
	}
	return words
}

// Global appends an instruction with a result, and without a type of the result if typ is 0, to those before the functions.
func (m *Module) Global(op spirv.Op, typ spirv.ID, args ...uint32) spirv.ID {
	id := m.ID()
	words := []uint32{id}
	if typ != 0 {
		words = []uint32{typ, id}
	}
	m.globals = spirv.Put(m.globals, op, append(words, args...)...)
	return id
}

// once is Global for what a module has once.
func (m *Module) once(op spirv.Op, typ spirv.ID, args ...uint32) spirv.ID {
	key := fmt.Sprint(op, typ, args)
	if m.made[key] == 0 {
		m.made[key] = m.Global(op, typ, args...)
	}
	return m.made[key]
}

// Type returns a type that is the same wherever its operands are.
func (m *Module) Type(op spirv.Op, args ...uint32) spirv.ID { return m.once(op, 0, args...) }

// Int returns the type of integers of a width. Instructions say whether they have a sign.
func (m *Module) Int(bits int) spirv.ID {
	if bits == 64 {
		m.Need(Int64)
	}
	return m.Type(spirv.OpTypeInt, uint32(bits), 0)
}

// Float returns the type of floats of a width.
func (m *Module) Float(bits int) spirv.ID {
	if bits == 64 {
		m.Need(Float64)
	}
	return m.Type(spirv.OpTypeFloat, uint32(bits))
}

// Bool returns the type of conditions.
func (m *Module) Bool() spirv.ID { return m.Type(OpTypeBool) }

// Pointer returns the type of pointers into a kind of memory.
func (m *Module) Pointer(storage uint32, to spirv.ID) spirv.ID {
	return m.Type(spirv.OpTypePointer, storage, to)
}

// Const returns an integer of 8, 16, 32 or 64 bits.
func (m *Module) Const(bits int, v uint64) spirv.ID {
	if bits == 64 {
		return m.once(spirv.OpConstant, m.Int(64), uint32(v), uint32(v>>32))
	}
	return m.once(spirv.OpConstant, m.Int(bits), uint32(v&(1<<bits-1)))
}

// Composite returns an array or a structure of constants.
func (m *Module) Composite(typ spirv.ID, parts ...spirv.ID) spirv.ID {
	return m.once(OpConstantComposite, typ, parts...)
}

// ConstFloat returns a float.
func (m *Module) ConstFloat(bits int, v float64) spirv.ID {
	if bits == 64 {
		b := math.Float64bits(v)
		return m.once(spirv.OpConstant, m.Float(64), uint32(b), uint32(b>>32))
	}
	return m.once(spirv.OpConstant, m.Float(32), math.Float32bits(float32(v)))
}

// Truth returns a condition.
func (m *Module) Truth(v bool) spirv.ID {
	if v {
		return m.once(OpConstantTrue, m.Bool())
	}
	return m.once(OpConstantFalse, m.Bool())
}

// Null returns the zero of a type.
func (m *Module) Null(typ spirv.ID) spirv.ID { return m.once(OpConstantNull, typ) }

// Decorate decorates a result.
func (m *Module) Decorate(id spirv.ID, args ...uint32) {
	m.decorations = spirv.Put(m.decorations, spirv.OpDecorate, append([]uint32{id}, args...)...)
}

// DecorateMember decorates a member of a structure.
func (m *Module) DecorateMember(id spirv.ID, member int, args ...uint32) {
	m.decorations = spirv.Put(m.decorations, spirv.OpMemberDecorate, append([]uint32{id, uint32(member)}, args...)...)
}

// Name names a result, for tools.
func (m *Module) Name(id spirv.ID, name string) {
	m.names = spirv.Put(m.names, spirv.OpName, append([]uint32{id}, text(name)...)...)
}

// GLSL returns the id of GLSL.std.450, whose functions OpExtInst calls.
func (m *Module) GLSL() spirv.ID {
	if m.imported == 0 {
		m.imported = m.ID()
	}
	return m.imported
}

// Entry declares a kernel. uses are the global variables that it and its functions use.
func (m *Module) Entry(name string, function spirv.ID, uses ...spirv.ID) {
	const glCompute, localSize = 5, 17
	m.entries = spirv.Put(m.entries, spirv.OpEntryPoint, slices.Concat([]uint32{glCompute, function}, text(name), uses)...)
	m.modes = spirv.Put(m.modes, spirv.OpExecutionMode, function, localSize, 1, 1, 1)
}

// Words returns the module.
func (m *Module) Words() []uint32 {
	const magic, version, physicalStorage64, glsl450 = 0x07230203, 0x00010500, 5348, 1
	words := []uint32{magic, version, 0, m.last + 1, 0}
	for _, c := range m.capabilities {
		words = spirv.Put(words, spirv.OpCapability, c)
	}
	if m.imported != 0 {
		words = spirv.Put(words, OpExtInstImport, append([]uint32{m.imported}, text("GLSL.std.450")...)...)
	}
	words = spirv.Put(words, OpMemoryModel, physicalStorage64, glsl450)
	return slices.Concat(words, m.entries, m.modes, m.names, m.decorations, m.globals, m.functions)
}

// Code is a function that is being built. Its variables are at its beginning, wherever they are asked for.
type Code struct {
	m            *Module
	ID           spirv.ID
	head         []uint32
	variables    []uint32
	early        []uint32
	body         []uint32
	first, block spirv.ID // the first block, and the one that is being written
	Dead         bool     // the block has ended: what follows is never reached
}

// Function begins a function, and returns its parameters as well.
func (m *Module) Function(result spirv.ID, params ...spirv.ID) (*Code, []spirv.ID) {
	c := &Code{m: m, ID: m.ID(), first: m.ID()}
	c.head = spirv.Put(nil, spirv.OpFunction, result, c.ID, 0, m.Type(OpTypeFunction, append([]uint32{result}, params...)...))
	var ids []spirv.ID
	for _, t := range params {
		id := m.ID()
		c.head = spirv.Put(c.head, OpFunctionParameter, t, id)
		ids = append(ids, id)
	}
	c.block = c.first
	return c, ids
}

// End adds the function to the module.
func (c *Code) End() {
	label := spirv.Put(nil, OpLabel, c.first)
	c.m.functions = slices.Concat(c.m.functions, c.head, label, c.variables, c.early, c.body, spirv.Put(nil, spirv.OpFunctionEnd))
}

// Op appends an instruction with a result.
func (c *Code) Op(op spirv.Op, typ spirv.ID, args ...uint32) spirv.ID {
	id := c.m.ID()
	if !c.Dead {
		c.body = spirv.Put(c.body, op, append([]uint32{typ, id}, args...)...)
	}
	return id
}

// As is Op with a result that has been asked for before.
func (c *Code) As(op spirv.Op, typ, id spirv.ID, args ...uint32) {
	if !c.Dead {
		c.body = spirv.Put(c.body, op, append([]uint32{typ, id}, args...)...)
	}
}

// Early is Op at the beginning of the function, behind its variables.
func (c *Code) Early(op spirv.Op, typ spirv.ID, args ...uint32) spirv.ID {
	id := c.m.ID()
	c.early = spirv.Put(c.early, op, append([]uint32{typ, id}, args...)...)
	return id
}

// Do appends an instruction without a result.
func (c *Code) Do(op spirv.Op, args ...uint32) {
	if c.Dead {
		return
	}
	c.body = spirv.Put(c.body, op, args...)
	switch op {
	case OpBranch, OpBranchConditional, OpSwitch, OpReturn, OpReturnValue, OpUnreachable:
		c.Dead = true
	}
}

// Variable returns a variable of the function's own, of a type. It begins with the constant first, if there is one.
func (c *Code) Variable(typ spirv.ID, first ...spirv.ID) spirv.ID {
	id := c.m.ID()
	c.variables = spirv.Put(c.variables, spirv.OpVariable, append([]uint32{c.m.Pointer(Function, typ), id, Function}, first...)...)
	return id
}

// Begin begins a block.
func (c *Code) Begin(block spirv.ID) {
	c.Dead = false
	c.block = block
	c.body = spirv.Put(c.body, OpLabel, block)
}

// Block returns the block that is being written.
func (c *Code) Block() spirv.ID { return c.block }
