package translate

import (
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/go-halyard/halyard/internal/spirv"
	"github.com/go-halyard/halyard/internal/spirv/build"
)

// float writes an operation on floats. No device may change its result: not by leaving out a rounding, nor by taking for granted that
// there is no NaN.
func (f *spirvFunction) float(op spirv.Op, typ spirv.ID, args ...uint32) spirv.ID {
	id := f.c.Op(op, typ, args...)
	if !f.c.Dead {
		f.m.Decorate(id, build.NoContraction)
	}
	return id
}

// integer returns a constant.
func (f *spirvFunction) integer(t *cType, v uint64) cValue {
	return cValue{f.m.Const(max(t.bits, 32), v), t}
}

// value writes an expression.
func (f *spirvFunction) value(e *cExpr) cValue {
	switch e.op {
	case "num":
		return f.unknown(f.literal(e.text))
	case "id":
		if e.text == "GO_APART" {
			return f.integer(cNumbers["i32"], 1)
		}
		return f.load(f.place(e))
	case ".", "[]", "*":
		if len(e.args) == 1 || e.op == "[]" {
			return f.load(f.place(e))
		}
	case "call":
		return f.call(e)
	case "cast":
		x := f.value(e.args[0])
		if e.typ.kind == cVoid {
			return x
		}
		return cValue{f.convert(x, e.typ), e.typ}
	case "!":
		return cValue{f.c.Op(build.OpLogicalNot, f.m.Bool(), f.truth(f.value(e.args[0]))), cCond}
	case "~":
		x := f.promoted(f.value(e.args[0]))
		return cValue{f.c.Op(build.OpNot, f.emitter.value(x.typ), x.id), x.typ}
	case "?":
		return f.choice(e)
	case "&&", "||":
		return f.both(e)
	}
	if len(e.args) == 1 {
		x := f.promoted(f.value(e.args[0]))
		if e.op == "-" {
			return f.negative(x)
		}
		return x
	}
	switch x, y := e.args[0], e.args[1]; {
	case isNumber(y):
		return f.binary(e.op, f.value(x), f.constant(y))
	case isNumber(x):
		return f.binary(e.op, f.constant(x), f.value(y))
	default:
		return f.binary(e.op, f.value(x), f.value(y))
	}
}

// unknown returns a value which the driver's compiler cannot know, if it is a float. With a zero that they know, Mesa's drivers for
// processors change what floats do: x*0 becomes 0, also for a negative x or a NaN, x+0 becomes x, though -0+0 is 0, and 0/x becomes 0.
// A compiler knows a zero that the text has, and each that it can compute: from a variable with a constant, or from the thread's index
// in a dimension in which blocks have one thread. So floats with which a computation begins, which are constants and conversions of
// integers, are chosen by a condition that is never true: that the grid has no blocks.
func (f *spirvFunction) unknown(x cValue) cValue {
	t := x.typ
	if t.kind != cFloat {
		return x
	}
	if f.never == 0 {
		u32 := f.m.Int(32)
		all := f.c.Early(spirv.OpLoad, f.m.Type(spirv.OpTypeVector, u32, 3), f.input(spirv.NumWorkgroups))
		f.never = f.c.Early(build.OpIEqual, f.m.Bool(), f.c.Early(build.OpCompositeExtract, u32, all, 0), f.m.Const(32, 0))
	}
	return cValue{f.c.Op(build.OpSelect, f.m.Float(t.bits), f.never, f.m.ConstFloat(t.bits, 2), x.id), t}
}

// isNumber reports whether an expression is a number of the text, with or without a minus.
func isNumber(e *cExpr) bool {
	return e.op == "num" || e.op == "-" && len(e.args) == 1 && isNumber(e.args[0])
}

// constant returns a number of the text as an operand of an operator, whose other operand is not one: no compiler can know the result,
// unless the number is 0.
func (f *spirvFunction) constant(e *cExpr) cValue {
	if e.op == "-" {
		return f.negative(f.promoted(f.constant(e.args[0])))
	}
	x := f.literal(e.text)
	if x.typ.kind == cFloat && x.id == f.m.ConstFloat(x.typ.bits, 0) {
		return f.unknown(x)
	}
	return x
}

// negative returns a number with the other sign.
func (f *spirvFunction) negative(x cValue) cValue {
	if x.typ.kind == cFloat {
		return cValue{f.float(build.OpFNegate, f.emitter.value(x.typ), x.id), x.typ}
	}
	return cValue{f.c.Op(build.OpSNegate, f.emitter.value(x.typ), x.id), x.typ}
}

// zeroOf returns the zero of a type. Of large arrays no driver knows the elements.
func (f *spirvFunction) zeroOf(t *cType) spirv.ID {
	switch {
	case t.kind == cFloat:
		return f.unknown(cValue{f.m.ConstFloat(t.bits, 0), t}).id
	case !t.hasFloat() || t.size() > 256:
		return f.m.Null(f.emitter.value(t))
	}
	var parts []spirv.ID
	for range t.n {
		parts = append(parts, f.zeroOf(t.elem))
	}
	for _, m := range t.fields {
		if m.typ.kind == cInt {
			parts = append(parts, f.m.Null(f.part(m.typ)))
		} else {
			parts = append(parts, f.zeroOf(m.typ))
		}
	}
	return f.c.Op(spirv.OpCompositeConstruct, f.part(t), parts...)
}

// literal returns a number of the text, in the type that C gives it.
func (f *spirvFunction) literal(text string) cValue {
	if !strings.HasPrefix(text, "0x") && strings.ContainsAny(text, ".e") {
		t := cNumbers["f64"]
		if strings.HasSuffix(text, "f") {
			t, text = cNumbers["f32"], text[:len(text)-1]
		}
		v, _ := strconv.ParseFloat(text, t.bits)
		return cValue{f.m.ConstFloat(t.bits, v), t}
	}
	digits := strings.TrimRight(text, "uUlL")
	v, err := strconv.ParseUint(digits, 0, 64)
	if err != nil {
		cFail("a number %s", text)
	}
	unsigned := digits != text || strings.HasPrefix(text, "0x")
	name := "i64"
	switch n := bits.Len64(v); {
	case n < 32 && digits == text:
		name = "i32"
	case n <= 32 && unsigned:
		name = "u32"
	case n == 64:
		name = "u64"
	}
	return f.integer(cNumbers[name], v)
}

// promoted returns a number as C computes with it: integers with at least 32 bits.
func (f *spirvFunction) promoted(x cValue) cValue {
	t := promotedType(x.typ)
	return cValue{f.convert(x, t), t}
}

// truth returns a value as a condition.
func (f *spirvFunction) truth(x cValue) spirv.ID { return f.convert(x, cCond) }

// convert returns a value in another type.
func (f *spirvFunction) convert(x cValue, to *cType) spirv.ID {
	from := x.typ
	if from == to || from.kind == cStruct || to.kind == cVoid {
		return x.id
	}
	typ := f.emitter.value(to)
	switch {
	case from.kind == cTruth && to.kind == cTruth:
		return x.id
	case from.kind == cTruth && to.kind == cFloat:
		id := f.c.Op(build.OpSelect, typ, x.id, f.m.ConstFloat(to.bits, 1), f.m.ConstFloat(to.bits, 0))
		return f.unknown(cValue{id, to}).id
	case from.kind == cTruth:
		width := max(to.bits, 32)
		return f.c.Op(build.OpSelect, typ, x.id, f.m.Const(width, 1), f.m.Const(width, 0))
	case to.kind == cTruth && from.kind == cFloat:
		return f.float(build.OpFUnordNotEqual, typ, x.id, f.m.ConstFloat(from.bits, 0))
	case to.kind == cTruth:
		return f.c.Op(build.OpINotEqual, typ, x.id, f.m.Const(max(from.bits, 32), 0))
	case from.kind == cFloat && to.kind == cFloat:
		return f.float(build.OpFConvert, typ, x.id)
	case from.kind == cFloat && to.bits < 32:
		wide := cNumbers["i32"]
		return f.convert(cValue{f.float(build.OpConvertFToS, f.m.Int(32), x.id), wide}, to)
	case from.kind == cFloat && to.signed:
		return f.float(build.OpConvertFToS, typ, x.id)
	case from.kind == cFloat:
		return f.float(build.OpConvertFToU, typ, x.id)
	case to.kind == cFloat && from.signed:
		return f.unknown(cValue{f.float(build.OpConvertSToF, typ, x.id), to}).id
	case to.kind == cFloat:
		return f.unknown(cValue{f.float(build.OpConvertUToF, typ, x.id), to}).id
	}
	id, width := x.id, max(to.bits, 32)
	switch {
	case max(from.bits, 32) == width:
	case from.signed:
		id = f.c.Op(build.OpSConvert, typ, id)
	default:
		id = f.c.Op(build.OpUConvert, typ, id)
	}
	if to.bits >= 32 || from.bits < to.bits && (!from.signed || to.signed) || from.bits == to.bits && from.signed == to.signed {
		return id
	}
	if to.signed { // the bits above are copies of the sign
		by := f.m.Const(32, uint64(32-to.bits))
		return f.c.Op(build.OpShiftRightArithmetic, typ, f.c.Op(build.OpShiftLeftLogical, typ, id, by), by)
	}
	return f.c.Op(build.OpBitwiseAnd, typ, id, f.m.Const(32, 1<<to.bits-1))
}

// promotedType is the type of a number when C has promoted it.
func promotedType(t *cType) *cType {
	if t.kind == cTruth || t.kind == cInt && t.bits < 32 {
		return cNumbers["i32"]
	}
	return t
}

// commonType is the type in which C computes with two numbers.
func commonType(x, y *cType) *cType {
	a, b := promotedType(x), promotedType(y)
	switch {
	case b.kind == cFloat && (a.kind != cFloat || b.bits > a.bits):
		return b
	case a.kind == cFloat || a.kind == cStruct:
		return a
	case b.bits > a.bits || b.bits == a.bits && a.signed:
		return b
	}
	return a
}

// common returns two numbers in the type in which C computes with both.
func (f *spirvFunction) common(x, y cValue) (cValue, cValue, *cType) {
	t := commonType(x.typ, y.typ)
	return cValue{f.convert(x, t), t}, cValue{f.convert(y, t), t}, t
}

// cOps are the instructions of operators: on integers with a sign, on those without, and on floats.
var cOps = map[string][3]spirv.Op{
	"+":  {spirv.OpIAdd, spirv.OpIAdd, build.OpFAdd},
	"-":  {build.OpISub, build.OpISub, build.OpFSub},
	"*":  {build.OpIMul, build.OpIMul, build.OpFMul},
	"/":  {build.OpSDiv, build.OpUDiv, build.OpFDiv},
	"%":  {0, build.OpUMod, 0},
	"&":  {build.OpBitwiseAnd, build.OpBitwiseAnd, 0},
	"|":  {build.OpBitwiseOr, build.OpBitwiseOr, 0},
	"^":  {build.OpBitwiseXor, build.OpBitwiseXor, 0},
	"==": {build.OpIEqual, build.OpIEqual, build.OpFOrdEqual},
	"!=": {build.OpINotEqual, build.OpINotEqual, build.OpFUnordNotEqual},
	"<":  {build.OpSLessThan, build.OpULessThan, build.OpFOrdLessThan},
	"<=": {build.OpSLessThanEqual, build.OpULessThanEqual, build.OpFOrdLessThanEqual},
	">":  {build.OpSGreaterThan, build.OpUGreaterThan, build.OpFOrdGreaterThan},
	">=": {build.OpSGreaterThanEqual, build.OpUGreaterThanEqual, build.OpFOrdGreaterThanEqual},
}

// binary writes an operator on two numbers.
func (f *spirvFunction) binary(op string, x, y cValue) cValue {
	if op == "<<" || op == ">>" {
		x = f.promoted(x)
		by := f.convert(f.promoted(y), cNumbers["u32"])
		shift := build.OpShiftLeftLogical
		switch {
		case op == ">>" && x.typ.signed:
			shift = build.OpShiftRightArithmetic
		case op == ">>":
			shift = build.OpShiftRightLogical
		}
		return cValue{f.c.Op(shift, f.emitter.value(x.typ), x.id, by), x.typ}
	}
	a, b, t := f.common(x, y)
	kind := 0
	switch {
	case t.kind == cFloat:
		kind = 2
	case !t.signed:
		kind = 1
	}
	code, result := cOps[op][kind], t
	if cPrecedence[op] == 7 || cPrecedence[op] == 8 {
		result = cCond
	}
	typ := f.emitter.value(result)
	switch {
	case op == "%" && t.signed && t.kind == cInt: // NVIDIA's driver gives wrong remainders of negative integers of 64 bits
		q := f.c.Op(build.OpSDiv, typ, a.id, b.id)
		return cValue{f.c.Op(build.OpISub, typ, a.id, f.c.Op(build.OpIMul, typ, q, b.id)), t}
	case op == "/" && t == cNumbers["f32"]:
		return cValue{f.c.Op(spirv.OpFunctionCall, typ, f.function(f.p.functions["vk_div_32"]), a.id, b.id), t}
	case code == 0:
		cFail("operator %s of %s", op, t.name)
	case t.kind == cFloat:
		return cValue{f.float(code, typ, a.id, b.id), result}
	}
	return cValue{f.c.Op(code, typ, a.id, b.id), result}
}

// harmless reports whether an expression can be evaluated where C would not: it reads no memory by an index, and divides by no variable.
func harmless(e *cExpr) bool {
	switch e.op {
	case "[]", "call":
		return false
	case "*", "&":
		if len(e.args) == 1 {
			return false
		}
	case "/", "%":
		if e.args[1].op != "num" {
			return false
		}
	}
	for _, x := range e.args {
		if !harmless(x) {
			return false
		}
	}
	return true
}

// either writes two expressions of which only one is evaluated, and returns the value of that one. Each returns its value.
func (f *spirvFunction) either(cond spirv.ID, typ func() spirv.ID, yes, no func() spirv.ID) spirv.ID {
	then, other, merge := f.m.ID(), f.m.ID(), f.m.ID()
	f.c.Do(build.OpSelectionMerge, merge, 0)
	f.c.Do(build.OpBranchConditional, cond, then, other)
	f.c.Begin(then)
	a := yes()
	fromA := f.c.Block()
	f.c.Do(build.OpBranch, merge)
	f.c.Begin(other)
	b := no()
	fromB := f.c.Block()
	f.c.Do(build.OpBranch, merge)
	f.c.Begin(merge)
	return f.c.Op(build.OpPhi, typ(), a, fromA, b, fromB)
}

// both writes && and ||.
func (f *spirvFunction) both(e *cExpr) cValue {
	left := f.truth(f.value(e.args[0]))
	right := func() spirv.ID { return f.truth(f.value(e.args[1])) }
	and := e.op == "&&"
	if harmless(e.args[1]) {
		op := build.OpLogicalOr
		if and {
			op = build.OpLogicalAnd
		}
		return cValue{f.c.Op(op, f.m.Bool(), left, right()), cCond}
	}
	known := func() spirv.ID { return f.m.Truth(!and) }
	if and {
		return cValue{f.either(left, f.m.Bool, right, known), cCond}
	}
	return cValue{f.either(left, f.m.Bool, known, right), cCond}
}

// choice writes c ? x : y.
func (f *spirvFunction) choice(e *cExpr) cValue {
	cond := f.truth(f.value(e.args[0]))
	t := f.typeOf(e)
	x := func() spirv.ID { return f.convert(f.value(e.args[1]), t) }
	y := func() spirv.ID { return f.convert(f.value(e.args[2]), t) }
	if t.kind != cStruct && harmless(e.args[1]) && harmless(e.args[2]) {
		return cValue{f.c.Op(build.OpSelect, f.emitter.value(t), cond, x(), y()), t}
	}
	return cValue{f.either(cond, func() spirv.ID { return f.emitter.value(t) }, x, y), t}
}

// typeOf returns the type of an expression that is not written yet.
func (f *spirvFunction) typeOf(e *cExpr) *cType {
	arg := func(i int) *cType { return f.typeOf(e.args[i]) }
	switch e.op {
	case "num":
		return f.literal(e.text).typ
	case "id":
		if e.text == "GO_APART" {
			return cNumbers["i32"]
		}
		return f.named(e.text).typ
	case "cast":
		return e.typ
	case "!", "&&", "||", "==", "!=", "<", "<=", ">", ">=":
		return cCond
	case "[]":
		if x := e.args[0]; x.op == "id" && f.named(x.text).slice {
			return f.named(x.text).typ
		}
		return arg(0).elem
	case ".":
		t := arg(0)
		i := slices.IndexFunc(t.fields, func(m cField) bool { return m.name == e.text })
		return t.fields[i].typ
	case "<<", ">>":
		return promotedType(arg(0))
	case "?":
		return commonType(arg(1), arg(2))
	case "call":
		if def := f.p.functions[e.text]; def != nil {
			return def.result
		}
		if t := cResults[e.text]; t != "" {
			return cNumbers[t]
		}
	case "*":
		if len(e.args) == 1 && e.args[0].op == "id" {
			return f.named(e.args[0].text).typ
		}
	}
	if len(e.args) == 2 && e.op != "call" {
		return commonType(arg(0), arg(1))
	}
	return promotedType(arg(0))
}

// cResults are the types of what macros give.
var cResults = map[string]string{"THREAD": "u64", "THREADS": "u64", "BLOCK": "u64", "BLOCKS": "u64", "F32_BITS": "u32", "BITS_F32": "f32",
	"GO_QUOTIENT": "f32", "GO_ROOT": "f32",
	"GO_F64_BITS": "u64", "GO_BITS_F64": "f64"}

// place returns what an expression names.
func (f *spirvFunction) place(e *cExpr) *cPlace {
	switch e.op {
	case "id":
		p := f.named(e.text)
		if p.slice {
			cFail("the address %s as a value", e.text)
		}
		return p
	case "*":
		p := f.pointer(e.args[0])
		if p.slice {
			return f.element(p, f.m.Const(32, 0))
		}
		return p
	case ".":
		p := f.place(e.args[0])
		if p.typ.kind == cStruct {
			for i, m := range p.typ.fields {
				if m.name == e.text {
					return f.inside(p, m.typ, f.m.Const(32, uint64(i)), i)
				}
			}
		}
		cFail("no member %s in %s", e.text, p.typ.name)
	case "[]":
		if x := e.args[0]; x.op == "id" && f.named(x.text).slice {
			return f.element(f.named(x.text), f.convert(f.promoted(f.value(e.args[1])), cNumbers["i64"]))
		}
		p := f.place(e.args[0])
		if p.typ.kind != cArray {
			cFail("an index of %s", p.typ.name)
		}
		if p.value != 0 {
			p = f.kept(p)
		}
		return f.inside(p, p.typ.elem, f.promoted(f.value(e.args[1])).id, 0)
	}
	x := f.value(e)
	return &cPlace{typ: x.typ, value: x.id}
}

// inside returns a part of a place.
func (f *spirvFunction) inside(p *cPlace, t *cType, index spirv.ID, number int) *cPlace {
	if p.value != 0 {
		id := f.c.Op(build.OpCompositeExtract, f.part(t), p.value, uint32(number))
		return &cPlace{typ: t, value: f.widened(id, t, false)}
	}
	part := *p
	part.typ, part.whole = t, false
	part.path = append(append([]spirv.ID{}, p.path...), index)
	return &part
}

// kept stores a value in a variable.
func (f *spirvFunction) kept(p *cPlace) *cPlace {
	at := &cPlace{typ: p.typ, storage: build.Function, base: f.c.Variable(f.part(p.typ))}
	f.c.Do(build.OpStore, at.base, p.value)
	return at
}

// pointer returns the place that a pointer points to.
func (f *spirvFunction) pointer(e *cExpr) *cPlace {
	switch {
	case e.op == "id":
		return f.named(e.text)
	case e.op == "&" && len(e.args) == 1:
		return f.place(e.args[0])
	case e.op == "+":
		p := *f.pointer(e.args[0])
		p.from = f.convert(f.value(e.args[1]), cNumbers["i64"])
		return &p
	case e.op == "cast" && e.typ.kind == cPointer: // to the bits of a number, for an atomic operation
		p, t := f.pointer(e.args[0]), e.typ.elem
		if p.typ.kind == cFloat && p.storage == spirv.PhysicalStorage {
			id := f.c.Op(build.OpBitcast, f.m.Pointer(p.storage, f.layout(t, p.storage)), f.address(p))
			return &cPlace{typ: t, storage: p.storage, base: id}
		}
		at := *p
		at.typ = t
		return &at
	}
	cFail("an address that is computed")
	return nil
}
