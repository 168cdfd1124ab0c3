package spirv

import (
	"math"
	"strings"

	isa "github.com/go-halyard/halyard/internal/spirv"
	"github.com/go-halyard/halyard/internal/spirv/build"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// glsl are the functions of GLSL.std.450 with exact results, except Sqrt on float32: see root32.
var glsl = map[string]uint32{"Floor": build.GLSLFloor, "Ceil": build.GLSLCeil, "Trunc": build.GLSLTrunc, "RoundToEven": build.GLSLRoundEven,
	"Sqrt": build.GLSLSqrt}

// mathOf prints a function of package math on floats of a type.
func (f *numbers) mathOf(name string, t *ir.Type, args []isa.ID) []isa.ID {
	typ, bits, truth := f.emitter.value(t), t.Bits(), f.m.Bool()
	word := f.m.Int(bits)
	cast := func(typ, id isa.ID) isa.ID { return f.c.Op(build.OpBitcast, typ, id) }
	one := func(id isa.ID) []isa.ID { return []isa.ID{id} }
	switch name {
	case "Sqrt":
		if t.Kind == ir.F32 {
			return one(f.root32(args[0]))
		}
	case "Abs": // Mesa drops the FAbs of a root, as if no root had a sign; but the root of -0 is -0
		return one(cast(typ, f.c.Op(build.OpBitwiseAnd, word, cast(word, args[0]), f.m.Const(bits, uint64(1)<<(bits-1)-1))))
	case "Copysign":
		sign := uint64(1) << (bits - 1)
		size := f.c.Op(build.OpBitwiseAnd, word, cast(word, args[0]), f.m.Const(bits, sign-1))
		from := f.c.Op(build.OpBitwiseAnd, word, cast(word, args[1]), f.m.Const(bits, sign))
		return one(cast(typ, f.c.Op(build.OpBitwiseOr, word, size, from)))
	case "Round":
		if t.Kind == ir.F32 {
			return f.lacking("Round32", args...)
		}
	case "Max", "Min": // in package math, Inf wins over NaN in Max, and -Inf in Min
		op, inf := ir.Max, f.unknownConst(t, math.Inf(1))
		if name == "Min" {
			op, inf = ir.Min, f.unknownConst(t, math.Inf(-1))
		}
		wins := f.c.Op(build.OpLogicalOr, truth, f.compare(ir.Eq, t, args[0], inf), f.compare(ir.Eq, t, args[1], inf))
		return one(f.c.Op(build.OpSelect, typ, wins, inf, f.extreme(op, t, args[0], args[1])))
	case "IsNaN":
		return one(f.compare(ir.Ne, t, args[0], args[0]))
	case "IsInf":
		i64 := ir.Basic(ir.Int)
		zero := f.number(i64, 0)
		is := func(inf float64, op ir.Op) isa.ID {
			there := f.compare(ir.Eq, t, args[0], f.unknownConst(t, inf))
			return f.c.Op(build.OpLogicalAnd, truth, there, f.compare(op, i64, args[1], zero))
		}
		return one(f.c.Op(build.OpLogicalOr, truth, is(math.Inf(1), ir.Ge), is(math.Inf(-1), ir.Le)))
	case "Signbit":
		top := f.c.Op(build.OpBitwiseAnd, word, cast(word, args[0]), f.m.Const(bits, 1<<(bits-1)))
		return one(f.c.Op(build.OpINotEqual, truth, top, f.m.Const(bits, 0)))
	case "Inf":
		plus := f.compare(ir.Ge, ir.Basic(ir.Int), args[0], f.number(ir.Basic(ir.Int), 0))
		return one(f.c.Op(build.OpSelect, typ, plus, f.unknownConst(t, math.Inf(1)), f.unknownConst(t, math.Inf(-1))))
	case "NaN":
		return one(f.unknownConst(t, math.NaN()))
	case "Float32bits", "Float64bits":
		return one(cast(word, args[0]))
	case "Float32frombits", "Float64frombits":
		return one(f.unknown(t, cast(typ, args[0])))
	}
	// Mesa's driver for processors does not round float64 above 1<<24, and loses the sign of zero.
	if n := glsl[name]; n != 0 && (t.Kind == ir.F32 || name == "Sqrt") {
		return one(f.float(build.OpExtInst, typ, append([]uint32{f.m.GLSL(), n}, args...)...))
	}
	return f.lacking(name, args...)
}

// bits prints a function of package math/bits.
func (f *numbers) bits(name string, values []*ir.Value, args []isa.ID) []isa.ID {
	base := strings.TrimRight(name, "0123456789")
	t, i64, u64 := values[0].Type, ir.Basic(ir.Int), ir.Basic(ir.U64)
	typ, n := f.emitter.value(t), t.Bits()
	word := func() isa.ID { return f.resized(args[0], t, u64) }
	back := func(id isa.ID) []isa.ID { return []isa.ID{f.resized(id, u64, t)} }
	do := func(op isa.Op, x, y isa.ID) isa.ID { return f.c.Op(op, typ, x, y) }
	top := func(x isa.ID) isa.ID { return do(build.OpShiftRightLogical, x, f.m.Const(32, uint64(n-1))) }
	not := func(x isa.ID) isa.ID { return f.c.Op(build.OpNot, typ, x) }
	switch base {
	case "LeadingZeros":
		return []isa.ID{f.c.Op(build.OpISub, f.emitter.value(i64), f.number(i64, uint64(n)), f.lacking("Len", word())[0])}
	case "TrailingZeros":
		return f.lacking(base, word(), f.number(i64, uint64(n)))
	case "Reverse", "ReverseBytes":
		return back(f.lacking(base, word(), f.number(i64, uint64(n)))[0])
	case "RotateLeft":
		u32 := f.m.Int(32)
		by := f.c.Op(build.OpBitwiseAnd, u32, f.resized(args[1], i64, ir.Basic(ir.U32)), f.m.Const(32, uint64(n-1)))
		rest := f.c.Op(build.OpBitwiseAnd, u32, f.c.Op(build.OpSNegate, u32, by), f.m.Const(32, uint64(n-1)))
		left, right := do(build.OpShiftLeftLogical, args[0], by), do(build.OpShiftRightLogical, args[0], rest)
		return []isa.ID{f.normal(t, do(build.OpBitwiseOr, left, right))}
	case "Add":
		sum := do(isa.OpIAdd, do(isa.OpIAdd, args[0], args[1]), args[2])
		either := do(build.OpBitwiseAnd, do(build.OpBitwiseOr, args[0], args[1]), not(sum))
		return []isa.ID{sum, top(do(build.OpBitwiseOr, do(build.OpBitwiseAnd, args[0], args[1]), either))}
	case "Sub":
		rest := do(build.OpISub, do(build.OpISub, args[0], args[1]), args[2])
		same := do(build.OpBitwiseAnd, not(do(build.OpBitwiseXor, args[0], args[1])), rest)
		return []isa.ID{rest, top(do(build.OpBitwiseOr, do(build.OpBitwiseAnd, not(args[0]), args[1]), same))}
	case "Mul":
		low := do(build.OpIMul, args[0], args[1])
		if n == 64 {
			return []isa.ID{f.lacking("High", args...)[0], low}
		}
		wide := f.emitter.value(u64)
		product := f.c.Op(build.OpIMul, wide, word(), f.resized(args[1], t, u64))
		return append(back(f.c.Op(build.OpShiftRightLogical, wide, product, f.m.Const(32, 32))), low)
	}
	return f.lacking(base, word()) // Len and OnesCount
}
