package build

import (
	"encoding/base64"
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

// Pack returns a module as text for a Go file. Most words are small, so they take one byte or two before base64.
func Pack(words []uint32) string {
	b := binary.AppendUvarint(nil, uint64(words[3])) // the rest of the header is the same in all modules
	for i := 5; i < len(words); {
		n := int(words[i] >> 16)
		b = binary.AppendUvarint(b, uint64(words[i]&0xffff))
		b = binary.AppendUvarint(b, uint64(n))
		for _, w := range words[i+1 : i+n] {
			b = binary.AppendUvarint(b, uint64(w))
		}
		i += n
	}
	packed := base64.StdEncoding.EncodeToString(b)
	var lines strings.Builder
	for at, width := 0, 120; at < len(packed); at += width {
		lines.WriteString(packed[at:min(at+width, len(packed))] + "\n")
	}
	return lines.String()
}

// names are what instructions are called in text.
var names = map[spirv.Op]string{
	spirv.OpName: "Name", spirv.OpExtInstImport: "ExtInstImport", spirv.OpExtInst: "ExtInst", spirv.OpMemoryModel: "MemoryModel", spirv.OpEntryPoint: "EntryPoint",
	spirv.OpExecutionMode: "ExecutionMode", spirv.OpCapability: "Capability", spirv.OpTypeVoid: "TypeVoid", spirv.OpTypeBool: "TypeBool", spirv.OpTypeInt: "TypeInt",
	spirv.OpTypeFloat: "TypeFloat", spirv.OpTypeVector: "TypeVector", spirv.OpTypeArray: "TypeArray", spirv.OpTypeRuntimeArray: "TypeRuntimeArray",
	spirv.OpTypeStruct: "TypeStruct", spirv.OpTypePointer: "TypePointer", spirv.OpTypeFunction: "TypeFunction", spirv.OpConstantTrue: "ConstantTrue",
	spirv.OpConstantFalse: "ConstantFalse", spirv.OpConstant: "Constant", spirv.OpConstantNull: "ConstantNull", spirv.OpSpecConstant: "SpecConstant",
	spirv.OpSpecConstantComposite: "SpecConstantComposite", spirv.OpFunction: "Function", spirv.OpFunctionParameter: "FunctionParameter",
	spirv.OpFunctionEnd: "FunctionEnd", spirv.OpFunctionCall: "FunctionCall", spirv.OpVariable: "Variable", spirv.OpLoad: "Load", spirv.OpStore: "Store",
	spirv.OpAccessChain: "AccessChain", spirv.OpDecorate: "Decorate", spirv.OpMemberDecorate: "MemberDecorate",
	spirv.OpCompositeConstruct: "CompositeConstruct", spirv.OpCompositeExtract: "CompositeExtract", spirv.OpConvertFToU: "ConvertFToU",
	spirv.OpConvertFToS: "ConvertFToS", spirv.OpConvertSToF: "ConvertSToF", spirv.OpConvertUToF: "ConvertUToF", spirv.OpUConvert: "UConvert",
	spirv.OpSConvert: "SConvert", spirv.OpFConvert: "FConvert", spirv.OpBitcast: "Bitcast", spirv.OpSNegate: "SNegate", spirv.OpFNegate: "FNegate", spirv.OpIAdd: "IAdd",
	spirv.OpFAdd: "FAdd", spirv.OpISub: "ISub", spirv.OpFSub: "FSub", spirv.OpIMul: "IMul", spirv.OpFMul: "FMul", spirv.OpUDiv: "UDiv", spirv.OpSDiv: "SDiv", spirv.OpFDiv: "FDiv",
	spirv.OpUMod: "UMod", spirv.OpLogicalOr: "LogicalOr", spirv.OpLogicalAnd: "LogicalAnd", spirv.OpLogicalNot: "LogicalNot", spirv.OpSelect: "Select",
	spirv.OpIEqual: "IEqual", spirv.OpINotEqual: "INotEqual", spirv.OpUGreaterThan: "UGreaterThan", spirv.OpSGreaterThan: "SGreaterThan",
	spirv.OpUGreaterThanEqual: "UGreaterThanEqual", spirv.OpSGreaterThanEqual: "SGreaterThanEqual", spirv.OpULessThan: "ULessThan",
	spirv.OpSLessThan: "SLessThan", spirv.OpULessThanEqual: "ULessThanEqual", spirv.OpSLessThanEqual: "SLessThanEqual", spirv.OpFOrdEqual: "FOrdEqual",
	spirv.OpFUnordNotEqual: "FUnordNotEqual", spirv.OpFOrdLessThan: "FOrdLessThan", spirv.OpFOrdGreaterThan: "FOrdGreaterThan",
	spirv.OpFOrdLessThanEqual: "FOrdLessThanEqual", spirv.OpFOrdGreaterThanEqual: "FOrdGreaterThanEqual", spirv.OpShiftRightLogical: "ShiftRightLogical",
	spirv.OpShiftRightArithmetic: "ShiftRightArithmetic", spirv.OpShiftLeftLogical: "ShiftLeftLogical", spirv.OpBitwiseOr: "BitwiseOr",
	spirv.OpBitwiseXor: "BitwiseXor", spirv.OpBitwiseAnd: "BitwiseAnd", spirv.OpNot: "Not", spirv.OpControlBarrier: "ControlBarrier",
	spirv.OpAtomicExchange: "AtomicExchange", spirv.OpAtomicCompareExchange: "AtomicCompareExchange", spirv.OpAtomicIAdd: "AtomicIAdd",
	spirv.OpAtomicISub: "AtomicISub", spirv.OpAtomicSMin: "AtomicSMin", spirv.OpAtomicUMin: "AtomicUMin", spirv.OpAtomicSMax: "AtomicSMax",
	spirv.OpAtomicUMax: "AtomicUMax", spirv.OpAtomicAnd: "AtomicAnd", spirv.OpAtomicOr: "AtomicOr", spirv.OpAtomicXor: "AtomicXor", spirv.OpPhi: "Phi",
	spirv.OpLoopMerge: "LoopMerge", spirv.OpSelectionMerge: "SelectionMerge", spirv.OpLabel: "Label", spirv.OpBranch: "Branch",
	spirv.OpBranchConditional: "BranchConditional", spirv.OpSwitch: "Switch", spirv.OpReturn: "Return", spirv.OpReturnValue: "ReturnValue",
	spirv.OpUnreachable: "Unreachable", spirv.OpCopyLogical: "CopyLogical",
}

// operands say how the operands of an instruction are printed. t is the type of the result, r the result, i an id, l a number, s a text,
// and a last letter in capitals stands for any number of its kind. Those that are missing are "trI".
var operands = map[spirv.Op]string{
	spirv.OpName: "is", spirv.OpExtInstImport: "rs", spirv.OpExtInst: "trilI", spirv.OpMemoryModel: "ll", spirv.OpEntryPoint: "lisI", spirv.OpExecutionMode: "iL",
	spirv.OpCapability: "l", spirv.OpTypeVoid: "r", spirv.OpTypeBool: "r", spirv.OpTypeInt: "rll", spirv.OpTypeFloat: "rl", spirv.OpTypeVector: "ril", spirv.OpTypeArray: "rii",
	spirv.OpTypeRuntimeArray: "ri", spirv.OpTypeStruct: "rI", spirv.OpTypePointer: "rli", spirv.OpTypeFunction: "rI", spirv.OpConstantTrue: "tr",
	spirv.OpConstantFalse: "tr", spirv.OpConstant: "trL", spirv.OpConstantNull: "tr", spirv.OpSpecConstant: "trL", spirv.OpFunction: "trli",
	spirv.OpFunctionParameter: "tr", spirv.OpFunctionEnd: "", spirv.OpVariable: "trlI", spirv.OpLoad: "triL", spirv.OpStore: "iiL", spirv.OpDecorate: "iL",
	spirv.OpMemberDecorate: "iL", spirv.OpCompositeExtract: "triL", spirv.OpControlBarrier: "iii", spirv.OpLoopMerge: "iil", spirv.OpSelectionMerge: "il",
	spirv.OpLabel: "r", spirv.OpBranch: "i", spirv.OpBranchConditional: "iiiL", spirv.OpSwitch: "iiL", spirv.OpReturn: "", spirv.OpReturnValue: "i", spirv.OpUnreachable: "",
}
