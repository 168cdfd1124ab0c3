package build

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/go-halyard/halyard/internal/spirv"
)

// Text returns a module in the form of spirv-dis, with numbers for the names of constants.
func Text(words []uint32) string {
	var b strings.Builder
	for i := 5; i < len(words); {
		n, op := int(words[i]>>16), spirv.Op(words[i])
		if n == 0 || i+n > len(words) {
			break
		}
		args := words[i+1 : i+n]
		i += n
		result, list := "", ""
		kinds, special := operands[op]
		if !special {
			kinds = "trI"
		}
		for len(args) > 0 && kinds != "" {
			switch kinds[0] {
			case 'r':
				result = fmt.Sprintf("%%%d = ", args[0])
			case 't', 'i', 'I':
				list += fmt.Sprintf(" %%%d", args[0])
			case 'l', 'L':
				list += fmt.Sprintf(" %d", args[0])
			case 's':
				var s []byte
				for ; len(args) > 0; args = args[1:] {
					s = binary.LittleEndian.AppendUint32(s, args[0])
					if s[len(s)-1] == 0 {
						break
					}
				}
				list += fmt.Sprintf(" %q", strings.TrimRight(string(s), "\x00"))
			}
			if len(args) > 0 {
				args = args[1:]
			}
			if kinds[0] >= 'a' {
				kinds = kinds[1:]
			}
		}
		fmt.Fprintf(&b, "%sOp%s%s\n", result, names[op], list)
	}
	return b.String()
}

// names are what instructions are called in text.
var names = map[spirv.Op]string{
	spirv.OpName: "Name", OpExtInstImport: "ExtInstImport", OpExtInst: "ExtInst", OpMemoryModel: "MemoryModel", spirv.OpEntryPoint: "EntryPoint",
	spirv.OpExecutionMode: "ExecutionMode", spirv.OpCapability: "Capability", OpTypeVoid: "TypeVoid", OpTypeBool: "TypeBool", spirv.OpTypeInt: "TypeInt",
	spirv.OpTypeFloat: "TypeFloat", spirv.OpTypeVector: "TypeVector", spirv.OpTypeArray: "TypeArray", OpTypeRuntimeArray: "TypeRuntimeArray",
	spirv.OpTypeStruct: "TypeStruct", spirv.OpTypePointer: "TypePointer", OpTypeFunction: "TypeFunction", OpConstantTrue: "ConstantTrue",
	OpConstantFalse: "ConstantFalse", spirv.OpConstant: "Constant", OpConstantComposite: "ConstantComposite", OpConstantNull: "ConstantNull", OpSpecConstant: "SpecConstant",
	OpSpecConstantComposite: "SpecConstantComposite", OpSpecConstantOp: "SpecConstantOp", spirv.OpFunction: "Function", OpFunctionParameter: "FunctionParameter",
	spirv.OpFunctionEnd: "FunctionEnd", spirv.OpFunctionCall: "FunctionCall", spirv.OpVariable: "Variable", spirv.OpLoad: "Load", OpStore: "Store",
	spirv.OpAccessChain: "AccessChain", spirv.OpDecorate: "Decorate", spirv.OpMemberDecorate: "MemberDecorate",
	spirv.OpCompositeConstruct: "CompositeConstruct", OpCompositeExtract: "CompositeExtract", OpCompositeInsert: "CompositeInsert",
	OpCopyObject: "CopyObject", OpLogicalEqual: "LogicalEqual", OpLogicalNotEqual: "LogicalNotEqual", OpConvertFToU: "ConvertFToU",
	OpConvertFToS: "ConvertFToS", OpConvertSToF: "ConvertSToF", OpConvertUToF: "ConvertUToF", OpUConvert: "UConvert",
	OpSConvert: "SConvert", OpFConvert: "FConvert", OpBitcast: "Bitcast", OpSNegate: "SNegate", OpFNegate: "FNegate", spirv.OpIAdd: "IAdd",
	OpFAdd: "FAdd", OpISub: "ISub", OpFSub: "FSub", OpIMul: "IMul", OpFMul: "FMul", OpUDiv: "UDiv", OpSDiv: "SDiv", OpFDiv: "FDiv",
	OpUMod: "UMod", OpLogicalOr: "LogicalOr", OpLogicalAnd: "LogicalAnd", OpLogicalNot: "LogicalNot", OpSelect: "Select",
	OpIEqual: "IEqual", OpINotEqual: "INotEqual", OpUGreaterThan: "UGreaterThan", OpSGreaterThan: "SGreaterThan",
	OpUGreaterThanEqual: "UGreaterThanEqual", OpSGreaterThanEqual: "SGreaterThanEqual", OpULessThan: "ULessThan",
	OpSLessThan: "SLessThan", OpULessThanEqual: "ULessThanEqual", OpSLessThanEqual: "SLessThanEqual", OpFOrdEqual: "FOrdEqual",
	OpFUnordNotEqual: "FUnordNotEqual", OpFOrdLessThan: "FOrdLessThan", OpFOrdGreaterThan: "FOrdGreaterThan",
	OpFOrdLessThanEqual: "FOrdLessThanEqual", OpFOrdGreaterThanEqual: "FOrdGreaterThanEqual", OpShiftRightLogical: "ShiftRightLogical",
	OpShiftRightArithmetic: "ShiftRightArithmetic", OpShiftLeftLogical: "ShiftLeftLogical", OpBitwiseOr: "BitwiseOr",
	OpBitwiseXor: "BitwiseXor", OpBitwiseAnd: "BitwiseAnd", OpNot: "Not", OpControlBarrier: "ControlBarrier",
	OpAtomicExchange: "AtomicExchange", OpAtomicCompareExchange: "AtomicCompareExchange", OpAtomicIAdd: "AtomicIAdd",
	OpAtomicISub: "AtomicISub", OpAtomicSMin: "AtomicSMin", OpAtomicUMin: "AtomicUMin", OpAtomicSMax: "AtomicSMax",
	OpAtomicUMax: "AtomicUMax", OpAtomicAnd: "AtomicAnd", OpAtomicOr: "AtomicOr", OpAtomicXor: "AtomicXor", OpPhi: "Phi",
	OpLoopMerge: "LoopMerge", OpSelectionMerge: "SelectionMerge", OpLabel: "Label", OpBranch: "Branch",
	OpBranchConditional: "BranchConditional", OpSwitch: "Switch", OpReturn: "Return", OpReturnValue: "ReturnValue",
	OpUnreachable: "Unreachable", OpCopyLogical: "CopyLogical",
}

// operands say how the operands of an instruction are printed. t is the type of the result, r the result, i an id, l a number, s a text,
// and a last letter in capitals stands for any number of its kind. Those that are missing are "trI".
var operands = map[spirv.Op]string{
	spirv.OpName: "is", OpExtInstImport: "rs", OpExtInst: "trilI", OpMemoryModel: "ll", spirv.OpEntryPoint: "lisI", spirv.OpExecutionMode: "iL",
	spirv.OpCapability: "l", OpTypeVoid: "r", OpTypeBool: "r", spirv.OpTypeInt: "rll", spirv.OpTypeFloat: "rl", spirv.OpTypeVector: "ril", spirv.OpTypeArray: "rii",
	OpTypeRuntimeArray: "ri", spirv.OpTypeStruct: "rI", spirv.OpTypePointer: "rli", OpTypeFunction: "rI", OpConstantTrue: "tr",
	OpConstantFalse: "tr", spirv.OpConstant: "trL", OpConstantNull: "tr", OpSpecConstant: "trL", OpSpecConstantOp: "trlI", spirv.OpFunction: "trli",
	OpFunctionParameter: "tr", spirv.OpFunctionEnd: "", spirv.OpVariable: "trlI", spirv.OpLoad: "triL", OpStore: "iiL", spirv.OpDecorate: "iL",
	spirv.OpMemberDecorate: "iL", OpCompositeExtract: "triL", OpCompositeInsert: "triiL", OpControlBarrier: "iii", OpLoopMerge: "iil", OpSelectionMerge: "il",
	OpLabel: "r", OpBranch: "i", OpBranchConditional: "iiiL", OpSwitch: "iiL", OpReturn: "", OpReturnValue: "i", OpUnreachable: "",
}
