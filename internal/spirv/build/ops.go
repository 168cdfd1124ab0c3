package build

import "github.com/go-halyard/halyard/internal/spirv"

// The instructions that are only written; package spirv has the others.
const (
	OpExtInstImport         spirv.Op = 11
	OpExtInst               spirv.Op = 12
	OpMemoryModel           spirv.Op = 14
	OpTypeVoid              spirv.Op = 19
	OpTypeBool              spirv.Op = 20
	OpTypeRuntimeArray      spirv.Op = 29
	OpTypeFunction          spirv.Op = 33
	OpConstantTrue          spirv.Op = 41
	OpConstantFalse         spirv.Op = 42
	OpConstantComposite     spirv.Op = 44
	OpConstantNull          spirv.Op = 46
	OpSpecConstant          spirv.Op = 50
	OpSpecConstantComposite spirv.Op = 51
	OpSpecConstantOp        spirv.Op = 52
	OpFunctionParameter     spirv.Op = 55
	OpStore                 spirv.Op = 62
	OpCompositeExtract      spirv.Op = 81
	OpCompositeInsert       spirv.Op = 82
	OpCopyObject            spirv.Op = 83
	OpConvertFToU           spirv.Op = 109
	OpConvertFToS           spirv.Op = 110
	OpConvertSToF           spirv.Op = 111
	OpConvertUToF           spirv.Op = 112
	OpUConvert              spirv.Op = 113
	OpSConvert              spirv.Op = 114
	OpFConvert              spirv.Op = 115
	OpBitcast               spirv.Op = 124
	OpSNegate               spirv.Op = 126
	OpFNegate               spirv.Op = 127
	OpFAdd                  spirv.Op = 129
	OpISub                  spirv.Op = 130
	OpFSub                  spirv.Op = 131
	OpIMul                  spirv.Op = 132
	OpFMul                  spirv.Op = 133
	OpUDiv                  spirv.Op = 134
	OpSDiv                  spirv.Op = 135
	OpFDiv                  spirv.Op = 136
	OpUMod                  spirv.Op = 137
	OpLogicalEqual          spirv.Op = 164
	OpLogicalNotEqual       spirv.Op = 165
	OpLogicalOr             spirv.Op = 166
	OpLogicalAnd            spirv.Op = 167
	OpLogicalNot            spirv.Op = 168
	OpSelect                spirv.Op = 169
	OpIEqual                spirv.Op = 170
	OpINotEqual             spirv.Op = 171
	OpUGreaterThan          spirv.Op = 172
	OpSGreaterThan          spirv.Op = 173
	OpUGreaterThanEqual     spirv.Op = 174
	OpSGreaterThanEqual     spirv.Op = 175
	OpULessThan             spirv.Op = 176
	OpSLessThan             spirv.Op = 177
	OpULessThanEqual        spirv.Op = 178
	OpSLessThanEqual        spirv.Op = 179
	OpFOrdEqual             spirv.Op = 180
	OpFUnordNotEqual        spirv.Op = 183
	OpFOrdLessThan          spirv.Op = 184
	OpFOrdGreaterThan       spirv.Op = 186
	OpFOrdLessThanEqual     spirv.Op = 188
	OpFOrdGreaterThanEqual  spirv.Op = 190
	OpShiftRightLogical     spirv.Op = 194
	OpShiftRightArithmetic  spirv.Op = 195
	OpShiftLeftLogical      spirv.Op = 196
	OpBitwiseOr             spirv.Op = 197
	OpBitwiseXor            spirv.Op = 198
	OpBitwiseAnd            spirv.Op = 199
	OpNot                   spirv.Op = 200
	OpControlBarrier        spirv.Op = 224
	OpAtomicExchange        spirv.Op = 229
	OpAtomicCompareExchange spirv.Op = 230
	OpAtomicIAdd            spirv.Op = 234
	OpAtomicISub            spirv.Op = 235
	OpAtomicSMin            spirv.Op = 236
	OpAtomicUMin            spirv.Op = 237
	OpAtomicSMax            spirv.Op = 238
	OpAtomicUMax            spirv.Op = 239
	OpAtomicAnd             spirv.Op = 240
	OpAtomicOr              spirv.Op = 241
	OpAtomicXor             spirv.Op = 242
	OpPhi                   spirv.Op = 245
	OpLoopMerge             spirv.Op = 246
	OpSelectionMerge        spirv.Op = 247
	OpLabel                 spirv.Op = 248
	OpBranch                spirv.Op = 249
	OpBranchConditional     spirv.Op = 250
	OpSwitch                spirv.Op = 251
	OpReturn                spirv.Op = 253
	OpReturnValue           spirv.Op = 254
	OpUnreachable           spirv.Op = 255
	OpCopyLogical           spirv.Op = 400
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
	Block         = 2
	Coherent      = 23
	NonWritable   = 24
	NoContraction = 42
)

// Kinds of memory.
const (
	Input     = 1
	Workgroup = 4
	Private   = 6
	Function  = 7
)

// Values that the device provides.
const (
	WorkgroupSize     = 25
	LocalInvocationID = 27
)

// Functions of GLSL.std.450.
const (
	GLSLRoundEven = 2
	GLSLTrunc     = 3
	GLSLFloor     = 8
	GLSLCeil      = 9
	GLSLSqrt      = 31

	GLSLInverseSqrt = 32
	GLSLFma         = 50
)
