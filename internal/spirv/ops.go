package spirv

// Op is the number of an instruction.
type Op uint16

// The instructions that kernels are made of. The numbers are those of the specification of SPIR-V, version 1.5.
const (
	OpName                  Op = 5
	OpMemberName            Op = 6
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

// form says how an instruction is printed: its name, and its operands. t is the type of the result, r the result, i an id, l a number, s a text, and a
// last letter in capitals stands for any number of its kind.
type form struct{ name, operands string }

var forms = map[Op]form{
	OpName: {"Name", "is"}, OpMemberName: {"MemberName", "ils"}, OpExtInstImport: {"ExtInstImport", "rs"}, OpExtInst: {"ExtInst", "trilI"},
	OpMemoryModel: {"MemoryModel", "ll"}, OpEntryPoint: {"EntryPoint", "lisI"}, OpExecutionMode: {"ExecutionMode", "iL"}, OpCapability: {"Capability", "l"},
	OpTypeVoid: {"TypeVoid", "r"}, OpTypeBool: {"TypeBool", "r"}, OpTypeInt: {"TypeInt", "rll"}, OpTypeFloat: {"TypeFloat", "rl"},
	OpTypeVector: {"TypeVector", "ril"}, OpTypeArray: {"TypeArray", "rii"}, OpTypeRuntimeArray: {"TypeRuntimeArray", "ri"}, OpTypeStruct: {"TypeStruct", "rI"},
	OpTypePointer: {"TypePointer", "rli"}, OpTypeFunction: {"TypeFunction", "rI"}, OpConstantTrue: {"ConstantTrue", "tr"}, OpConstantFalse: {"ConstantFalse", "tr"},
	OpConstant: {"Constant", "trL"}, OpConstantNull: {"ConstantNull", "tr"}, OpSpecConstant: {"SpecConstant", "trL"},
	OpSpecConstantComposite: {"SpecConstantComposite", "trI"}, OpFunction: {"Function", "trli"}, OpFunctionParameter: {"FunctionParameter", "tr"},
	OpFunctionEnd: {"FunctionEnd", ""}, OpFunctionCall: {"FunctionCall", "trI"}, OpVariable: {"Variable", "trlI"}, OpLoad: {"Load", "triL"},
	OpStore: {"Store", "iiL"}, OpAccessChain: {"AccessChain", "trI"}, OpDecorate: {"Decorate", "iL"}, OpMemberDecorate: {"MemberDecorate", "iL"},
	OpCompositeConstruct: {"CompositeConstruct", "trI"}, OpCompositeExtract: {"CompositeExtract", "triL"}, OpConvertFToU: {"ConvertFToU", "trI"},
	OpConvertFToS: {"ConvertFToS", "trI"}, OpConvertSToF: {"ConvertSToF", "trI"}, OpConvertUToF: {"ConvertUToF", "trI"}, OpUConvert: {"UConvert", "trI"},
	OpSConvert: {"SConvert", "trI"}, OpFConvert: {"FConvert", "trI"}, OpBitcast: {"Bitcast", "trI"}, OpSNegate: {"SNegate", "trI"}, OpFNegate: {"FNegate", "trI"},
	OpIAdd: {"IAdd", "trI"}, OpFAdd: {"FAdd", "trI"}, OpISub: {"ISub", "trI"}, OpFSub: {"FSub", "trI"}, OpIMul: {"IMul", "trI"}, OpFMul: {"FMul", "trI"},
	OpUDiv: {"UDiv", "trI"}, OpSDiv: {"SDiv", "trI"}, OpFDiv: {"FDiv", "trI"}, OpUMod: {"UMod", "trI"}, OpLogicalOr: {"LogicalOr", "trI"},
	OpLogicalAnd: {"LogicalAnd", "trI"}, OpLogicalNot: {"LogicalNot", "trI"}, OpSelect: {"Select", "trI"}, OpIEqual: {"IEqual", "trI"},
	OpINotEqual: {"INotEqual", "trI"}, OpUGreaterThan: {"UGreaterThan", "trI"}, OpSGreaterThan: {"SGreaterThan", "trI"},
	OpUGreaterThanEqual: {"UGreaterThanEqual", "trI"}, OpSGreaterThanEqual: {"SGreaterThanEqual", "trI"}, OpULessThan: {"ULessThan", "trI"},
	OpSLessThan: {"SLessThan", "trI"}, OpULessThanEqual: {"ULessThanEqual", "trI"}, OpSLessThanEqual: {"SLessThanEqual", "trI"},
	OpFOrdEqual: {"FOrdEqual", "trI"}, OpFUnordNotEqual: {"FUnordNotEqual", "trI"}, OpFOrdLessThan: {"FOrdLessThan", "trI"},
	OpFOrdGreaterThan: {"FOrdGreaterThan", "trI"}, OpFOrdLessThanEqual: {"FOrdLessThanEqual", "trI"}, OpFOrdGreaterThanEqual: {"FOrdGreaterThanEqual", "trI"},
	OpShiftRightLogical: {"ShiftRightLogical", "trI"}, OpShiftRightArithmetic: {"ShiftRightArithmetic", "trI"}, OpShiftLeftLogical: {"ShiftLeftLogical", "trI"},
	OpBitwiseOr: {"BitwiseOr", "trI"}, OpBitwiseXor: {"BitwiseXor", "trI"}, OpBitwiseAnd: {"BitwiseAnd", "trI"}, OpNot: {"Not", "trI"},
	OpControlBarrier: {"ControlBarrier", "iii"}, OpAtomicExchange: {"AtomicExchange", "trI"}, OpAtomicCompareExchange: {"AtomicCompareExchange", "trI"},
	OpAtomicIAdd: {"AtomicIAdd", "trI"}, OpAtomicISub: {"AtomicISub", "trI"}, OpAtomicSMin: {"AtomicSMin", "trI"}, OpAtomicUMin: {"AtomicUMin", "trI"},
	OpAtomicSMax: {"AtomicSMax", "trI"}, OpAtomicUMax: {"AtomicUMax", "trI"}, OpAtomicAnd: {"AtomicAnd", "trI"}, OpAtomicOr: {"AtomicOr", "trI"},
	OpAtomicXor: {"AtomicXor", "trI"}, OpPhi: {"Phi", "trI"}, OpLoopMerge: {"LoopMerge", "iil"}, OpSelectionMerge: {"SelectionMerge", "il"}, OpLabel: {"Label", "r"},
	OpBranch: {"Branch", "i"}, OpBranchConditional: {"BranchConditional", "iiiL"}, OpSwitch: {"Switch", "iiL"}, OpReturn: {"Return", ""},
	OpReturnValue: {"ReturnValue", "i"}, OpUnreachable: {"Unreachable", ""}, OpCopyLogical: {"CopyLogical", "trI"},
}

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
	Aliased       = 20
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
