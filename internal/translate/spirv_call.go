package translate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/spirv"
	"github.com/go-halyard/halyard/internal/spirv/build"
)

// inlined is a function that is being written out where it is called.
type inlined struct {
	def    *cFunction
	around *construct // left by a return, unless the only return is the last statement
	at     *cPlace    // where a return puts the result then
	value  spirv.ID   // the result otherwise
}

// call writes a call.
func (f *spirvFunction) call(e *cExpr) cValue {
	u64 := cNumbers["u64"]
	arg := func(i int, t string) spirv.ID { return f.convert(f.value(e.args[i]), cNumbers[t]) }
	bitcast := func(from, to string) cValue {
		t := cNumbers[to]
		return cValue{f.c.Op(build.OpBitcast, f.emitter.value(t), arg(0, from)), t}
	}
	switch e.text {
	case "THREAD":
		return f.input3(build.LocalInvocationID, e)
	case "BLOCK":
		return f.input3(spirv.WorkgroupID, e)
	case "BLOCKS":
		return f.input3(spirv.NumWorkgroups, e)
	case "THREADS":
		return cValue{f.c.Op(build.OpUConvert, f.emitter.value(u64), f.threads[dimension(e)]), u64}
	case "BARRIER":
		const workgroup, acquireRelease, buffers, shared = 2, 8, 0x40, 0x100
		scope := f.m.Const(32, workgroup)
		f.c.Do(build.OpControlBarrier, scope, scope, f.m.Const(32, acquireRelease|buffers|shared))
		return cValue{0, cNothing}
	case "F32_BITS":
		return bitcast("f32", "u32")
	case "BITS_F32":
		return f.unknown(bitcast("u32", "f32"))
	case "GO_ROUNDS":
		if f.rounds == 0 {
			f.rounds = f.m.Global(build.OpSpecConstant, f.m.Int(32), 0)
			f.m.Decorate(f.rounds, spirv.SpecID, spirv.SpecRounded)
		}
		return cValue{f.rounds, cNumbers["u32"]}
	case "GO_QUOTIENT":
		f32 := cNumbers["f32"]
		return cValue{f.float(build.OpFDiv, f.emitter.value(f32), arg(0, "f32"), arg(1, "f32")), f32}
	case "GO_F64_BITS":
		return bitcast("f64", "u64")
	case "GO_BITS_F64":
		return f.unknown(bitcast("u64", "f64"))
	}
	if op := atomicOps[e.text]; op != [2]spirv.Op{} {
		return f.atomicCall(e, op)
	}
	if def := f.p.functions[e.text]; def != nil {
		return f.called(def, e.args)
	}
	return f.mathCalled(e)
}

// dimension returns the first argument, which is 0, 1 or 2.
func dimension(e *cExpr) int { return int(e.args[0].text[0] - '0') }

// input3 returns one of three numbers that the device provides.
func (f *spirvFunction) input3(builtin uint32, e *cExpr) cValue {
	u32, u64 := f.m.Int(32), cNumbers["u64"]
	all := f.c.Op(spirv.OpLoad, f.m.Type(spirv.OpTypeVector, u32, 3), f.input(builtin))
	one := f.c.Op(build.OpCompositeExtract, u32, all, uint32(dimension(e)))
	return cValue{f.c.Op(build.OpUConvert, f.emitter.value(u64), one), u64}
}

// atomicOps are the atomic operations: on integers with a sign, and on those without.
var atomicOps = map[string][2]spirv.Op{
	"ATOMIC_ADD": {build.OpAtomicIAdd, build.OpAtomicIAdd}, "ATOMIC_SUB": {build.OpAtomicISub, build.OpAtomicISub},
	"ATOMIC_MIN": {build.OpAtomicSMin, build.OpAtomicUMin}, "ATOMIC_MAX": {build.OpAtomicSMax, build.OpAtomicUMax},
	"ATOMIC_AND": {build.OpAtomicAnd, build.OpAtomicAnd}, "ATOMIC_OR": {build.OpAtomicOr, build.OpAtomicOr},
	"ATOMIC_XOR": {build.OpAtomicXor, build.OpAtomicXor}, "ATOMIC_XCHG": {build.OpAtomicExchange, build.OpAtomicExchange},
	"ATOMIC_CAS": {build.OpAtomicCompareExchange, build.OpAtomicCompareExchange},
	"GO_ADD64":   {build.OpAtomicIAdd, build.OpAtomicIAdd}, "GO_XCHG64": {build.OpAtomicExchange, build.OpAtomicExchange},
	"GO_CAS64": {build.OpAtomicCompareExchange, build.OpAtomicCompareExchange},
}

func (f *spirvFunction) atomicCall(e *cExpr, ops [2]spirv.Op) cValue {
	p := f.pointer(e.args[0])
	op := ops[1]
	if p.typ.signed {
		op = ops[0]
	}
	if p.typ.bits == 64 {
		f.m.Need(build.Int64Atomics)
	}
	var values []spirv.ID
	for _, x := range e.args[1:] {
		values = append(values, f.convert(f.value(x), p.typ))
	}
	const device, relaxed = 1, 0
	args := []uint32{f.address(p), f.m.Const(32, device), f.m.Const(32, relaxed)}
	if op == build.OpAtomicCompareExchange {
		args = append(args, f.m.Const(32, relaxed), values[1], values[0])
	} else {
		args = append(args, values[0])
	}
	return cValue{f.c.Op(op, f.emitter.value(p.typ), args...), p.typ}
}

// called writes a call of a function of the text.
func (f *spirvFunction) called(def *cFunction, args []*cExpr) cValue {
	if slices.ContainsFunc(def.params, func(m cField) bool { return m.typ.kind == cPointer }) {
		return f.writtenOut(def, args)
	}
	values := []spirv.ID{f.function(def)}
	for i, m := range def.params {
		values = append(values, f.convert(f.value(args[i]), m.typ))
	}
	return cValue{f.c.Op(spirv.OpFunctionCall, f.emitter.value(def.result), values...), def.result}
}

// function returns a function without pointers, which a module has once.
func (f *spirvFunction) function(def *cFunction) spirv.ID {
	e := f.emitter
	if e.functions[def.name] != 0 {
		return e.functions[def.name]
	}
	var types []spirv.ID
	for _, m := range def.params {
		types = append(types, e.value(m.typ))
	}
	code, given := e.m.Function(e.value(def.result), types...)
	e.functions[def.name] = code.ID
	in := &spirvFunction{emitter: e, c: code, result: def.result}
	in.enterScope()
	for i, m := range def.params {
		in.declare(m.name, m.typ, given[i])
	}
	in.statement(def.body)
	if def.result.kind == cVoid {
		code.Do(build.OpReturn)
	} else {
		code.Do(build.OpUnreachable)
	}
	code.End()
	e.m.Name(code.ID, def.name)
	return code.ID
}

// writtenOut writes the statements of a function where it is called.
func (f *spirvFunction) writtenOut(def *cFunction, args []*cExpr) cValue {
	scope := map[string]*cPlace{}
	for i, m := range def.params {
		if m.typ.kind == cPointer {
			p := f.pointer(args[i])
			scope[m.name] = p
			continue
		}
		p := &cPlace{typ: m.typ, storage: build.Function, base: f.c.Variable(f.emitter.value(m.typ)), whole: true}
		f.store(p, f.convert(f.value(args[i]), m.typ))
		scope[m.name] = p
	}
	scopes := f.scopes
	f.scopes = []map[string]*cPlace{scope}
	in := &inlined{def: def}
	f.inlined = append(f.inlined, in)
	body := def.body.list
	if last := len(body) - 1; countReturns(def.body) == 0 || countReturns(def.body) == 1 && body[last].op == "return" {
		f.statement(def.body)
	} else {
		if def.result.kind != cVoid {
			in.at = &cPlace{typ: def.result, storage: build.Function, base: f.c.Variable(f.emitter.value(def.result)), whole: true}
		}
		in.around = &construct{label: "return"}
		f.within(in.around, func() { f.statement(def.body) })
		if in.at != nil {
			in.value = f.load(in.at).id
		}
	}
	f.inlined = f.inlined[:len(f.inlined)-1]
	f.scopes = scopes
	return cValue{in.value, def.result}
}

// countReturns returns how many return statements there are in a statement.
func countReturns(s *cStmt) (n int) {
	if s == nil {
		return 0
	}
	if s.op == "return" {
		n++
	}
	for _, x := range s.list {
		n += countReturns(x)
	}
	return n + countReturns(s.orElse)
}

// mathCalled writes a function of package math: one of vulkan/math.h, or of GLSL.std.450 where that has it without an error.
func (f *spirvFunction) mathCalled(e *cExpr) cValue {
	t := f.typeOf(e.args[0])
	typ := f.emitter.value(t)
	name := strings.ToLower(e.text)
	if def := f.p.functions[fmt.Sprintf("vk_%s_%d", name, t.bits)]; def != nil && t.kind == cFloat {
		return f.called(def, e.args)
	}
	glsl := map[string]uint32{"sqrt": build.GLSLSqrt, "GO_ROOT": build.GLSLSqrt, "floor": build.GLSLFloor, "ceil": build.GLSLCeil,
		"trunc": build.GLSLTrunc, "rint": build.GLSLRoundEven, "fabs": build.GLSLFAbs}
	if n := glsl[e.text]; n != 0 {
		return cValue{f.float(build.OpExtInst, typ, f.m.GLSL(), n, f.value(e.args[0]).id), t}
	}
	if e.text == "copysign" {
		x, y := f.value(e.args[0]), f.convert(f.value(e.args[1]), t)
		word, sign := f.m.Int(t.bits), uint64(1)<<(t.bits-1)
		size := f.c.Op(build.OpBitwiseAnd, word, f.c.Op(build.OpBitcast, word, x.id), f.m.Const(t.bits, sign-1))
		from := f.c.Op(build.OpBitwiseAnd, word, f.c.Op(build.OpBitcast, word, y), f.m.Const(t.bits, sign))
		return cValue{f.c.Op(build.OpBitcast, typ, f.c.Op(build.OpBitwiseOr, word, size, from)), t}
	}
	if t.kind != cFloat {
		cFail("%s of a %s has no translation for Vulkan", name, t.name)
	}
	// The function for f64, rounded.
	if def := f.p.functions["vk_"+name+"_64"]; def != nil && t.bits == 32 {
		f64, args := cNumbers["f64"], []*cExpr(nil)
		for _, x := range e.args {
			args = append(args, &cExpr{op: "cast", typ: f64, args: []*cExpr{x}})
		}
		return cValue{f.convert(f.called(def, args), t), t}
	}
	cFail("math.%s has no translation for Vulkan; write a function of this package that computes it", goNames[e.text])
	return cValue{}
}
