// Package spirv has the numbers of SPIR-V 1.5 that kernels for Vulkan are made of, and turns the modules in generated files into what a
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

// The instructions that kernels are made of. The numbers are those of the specification of SPIR-V, version 1.5.
const (
	OpName                  Op = 5
	OpExtInstImport         Op = 11
	OpExtInst               Op = 12
	OpMemoryModel           Op = 14
	OpEntryPoint            Op = 15
	OpExecutionMode         Op = 16
	OpCapability            Op = 17
	OpTypeVoid              Op = 19
	OpTypeBool              Op = 20
	OpTypeInt               Op = 21
	OpTypeFloat             Op = 22
	OpTypeVector            Op = 23
	OpTypeArray             Op = 28
	OpTypeRuntimeArray      Op = 29
	OpTypeStruct            Op = 30
	OpTypePointer           Op = 32
	OpTypeFunction          Op = 33
	OpConstantTrue          Op = 41
	OpConstantFalse         Op = 42
	OpConstant              Op = 43
	OpConstantNull          Op = 46
	OpSpecConstant          Op = 50
	OpSpecConstantComposite Op = 51
	OpFunction              Op = 54
	OpFunctionParameter     Op = 55
	OpFunctionEnd           Op = 56
	OpFunctionCall          Op = 57
	OpVariable              Op = 59
	OpLoad                  Op = 61
	OpStore                 Op = 62
	OpAccessChain           Op = 65
	OpDecorate              Op = 71
	OpMemberDecorate        Op = 72
	OpCompositeConstruct    Op = 80
	OpCompositeExtract      Op = 81
	OpConvertFToU           Op = 109
	OpConvertFToS           Op = 110
	OpConvertSToF           Op = 111
	OpConvertUToF           Op = 112
	OpUConvert              Op = 113
	OpSConvert              Op = 114
	OpFConvert              Op = 115
	OpBitcast               Op = 124
	OpSNegate               Op = 126
	OpFNegate               Op = 127
	OpIAdd                  Op = 128
	OpFAdd                  Op = 129
	OpISub                  Op = 130
	OpFSub                  Op = 131
	OpIMul                  Op = 132
	OpFMul                  Op = 133
	OpUDiv                  Op = 134
	OpSDiv                  Op = 135
	OpFDiv                  Op = 136
	OpUMod                  Op = 137
	OpLogicalOr             Op = 166
	OpLogicalAnd            Op = 167
	OpLogicalNot            Op = 168
	OpSelect                Op = 169
	OpIEqual                Op = 170
	OpINotEqual             Op = 171
	OpUGreaterThan          Op = 172
	OpSGreaterThan          Op = 173
	OpUGreaterThanEqual     Op = 174
	OpSGreaterThanEqual     Op = 175
	OpULessThan             Op = 176
	OpSLessThan             Op = 177
	OpULessThanEqual        Op = 178
	OpSLessThanEqual        Op = 179
	OpFOrdEqual             Op = 180
	OpFUnordNotEqual        Op = 183
	OpFOrdLessThan          Op = 184
	OpFOrdGreaterThan       Op = 186
	OpFOrdLessThanEqual     Op = 188
	OpFOrdGreaterThanEqual  Op = 190
	OpShiftRightLogical     Op = 194
	OpShiftRightArithmetic  Op = 195
	OpShiftLeftLogical      Op = 196
	OpBitwiseOr             Op = 197
	OpBitwiseXor            Op = 198
	OpBitwiseAnd            Op = 199
	OpNot                   Op = 200
	OpControlBarrier        Op = 224
	OpAtomicExchange        Op = 229
	OpAtomicCompareExchange Op = 230
	OpAtomicIAdd            Op = 234
	OpAtomicISub            Op = 235
	OpAtomicSMin            Op = 236
	OpAtomicUMin            Op = 237
	OpAtomicSMax            Op = 238
	OpAtomicUMax            Op = 239
	OpAtomicAnd             Op = 240
	OpAtomicOr              Op = 241
	OpAtomicXor             Op = 242
	OpPhi                   Op = 245
	OpLoopMerge             Op = 246
	OpSelectionMerge        Op = 247
	OpLabel                 Op = 248
	OpBranch                Op = 249
	OpBranchConditional     Op = 250
	OpSwitch                Op = 251
	OpReturn                Op = 253
	OpReturnValue           Op = 254
	OpUnreachable           Op = 255
	OpCopyLogical           Op = 400
)

// Capabilities of devices that kernels need, and their numbers.
const (
	Shader                 = 1
	Float64                = 10
	Int64                  = 11
	Int64Atomics           = 12
	Int16                  = 22
	Int8                   = 39
	Storage16              = 4433 // in buffers
	Push16                 = 4435
	Storage8               = 4448
	Push8                  = 4450
	PhysicalStorageAddress = 5347
)

// Decorations.
const (
	SpecID        = 1
	Block         = 2
	ArrayStride   = 6
	BuiltIn       = 11
	Coherent      = 23
	NonWritable   = 24
	Offset        = 35
	NoContraction = 42
)

// Kinds of memory.
const (
	Input           = 1
	Workgroup       = 4
	Function        = 7
	PushConstant    = 9
	PhysicalStorage = 5349
)

// Values that the device provides.
const (
	NumWorkgroups     = 24
	WorkgroupSize     = 25
	WorkgroupID       = 26
	LocalInvocationID = 27
)

// Functions of GLSL.std.450.
const (
	GLSLRoundEven = 2
	GLSLTrunc     = 3
	GLSLFAbs      = 4
	GLSLFloor     = 8
	GLSLCeil      = 9
	GLSLSqrt      = 31
)
