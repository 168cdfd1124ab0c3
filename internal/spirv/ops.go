// Package spirv has the numbers of SPIR-V 1.5 that programs need, and turns the modules in generated files into what a
// device loads. Package build makes such modules.
package spirv

// ID stands for a result: a type, a constant, a variable, a value, a block or a function.
type ID = uint32

// Op is the number of an instruction.
type Op uint16

// Put appends an instruction.
func Put(to []uint32, op Op, args ...uint32) []uint32 {
	return append(append(to, uint32(len(args)+1)<<16|uint32(op)), args...)
}

// The instructions that programs read. Package build has the others. The numbers are those of the specification of SPIR-V, version 1.5.
const (
	OpName               Op = 5
	OpEntryPoint         Op = 15
	OpExecutionMode      Op = 16
	OpCapability         Op = 17
	OpTypeInt            Op = 21
	OpTypeFloat          Op = 22
	OpTypeVector         Op = 23
	OpTypeArray          Op = 28
	OpTypeStruct         Op = 30
	OpTypePointer        Op = 32
	OpConstant           Op = 43
	OpFunction           Op = 54
	OpFunctionEnd        Op = 56
	OpFunctionCall       Op = 57
	OpVariable           Op = 59
	OpLoad               Op = 61
	OpAccessChain        Op = 65
	OpDecorate           Op = 71
	OpMemberDecorate     Op = 72
	OpCompositeConstruct Op = 80
	OpIAdd               Op = 128
)

// Decorations.
const (
	SpecID      = 1
	ArrayStride = 6
	BuiltIn     = 11
	Offset      = 35
)

// SpecRounded is the SpecId of the constant that is not 0 on devices which round quotients and square roots of float32 correctly. It is 0
// unless the backend says otherwise.
const SpecRounded = 4

// Kinds of memory.
const (
	PushConstant    = 9
	PhysicalStorage = 5349
)

// Values that the device provides.
const (
	NumWorkgroups = 24
	WorkgroupID   = 26
)
