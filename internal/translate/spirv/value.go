package spirv

import (
	"slices"

	"fmt"
	"strings"

	isa "github.com/go-halyard/halyard/internal/spirv"
	"github.com/go-halyard/halyard/internal/spirv/build"
	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// expr returns the result of a value. Unless the value is bound, expr prints it here.
func (f *values) expr(v *ir.Value) isa.ID {
	if f.narrow.Value(v) && v.Op != ir.Const {
		if !f.narrow.Exact(v) {
			panic(fmt.Sprintf("all bits of the value %q of the operation %s are used", v.Name, v.Op)) // package facts sees all uses
		}
		return f.c.Op(build.OpSConvert, f.m.Int(64), f.low(v))
	}
	if v.Bound && (v.Op != ir.Const || f.narrow == nil) {
		return f.frame.values[v.ID]
	}
	return f.compute(v)
}

// compute prints a value that has a single result.
func (f *values) compute(v *ir.Value) isa.ID {
	arg := func(i int) isa.ID { return f.expr(v.Args[i]) }
	switch op := v.Op; {
	case op == ir.Const:
		return f.constant(v.Type, v.Const)
	case op == ir.Argument:
		p := f.frame.params[v.Param.Index]
		if p.first > 0 {
			return f.argument(p.first - 1)
		}
		return p.value
	case op == ir.Len || op == ir.Rows:
		return f.argument(f.frame.params[v.Param.Index].rows)
	case op == ir.Cols:
		return f.argument(f.frame.params[v.Param.Index].col)
	case op >= ir.InGrid && op <= ir.AllBlocks:
		return f.inGrid(op, v.Which[0], 64)
	case op == ir.Load:
		return f.load(f.at(v.Place, f.indexes(v.Place)))
	case op == ir.Both || op == ir.Either:
		return f.both(v)
	case op == ir.Not:
		return f.c.Op(build.OpLogicalNot, f.m.Bool(), arg(0))
	case op == ir.Round: // each operation is rounded by itself
		return arg(0)
	case op == ir.Real || op == ir.Imag:
		return f.c.Op(build.OpCompositeExtract, f.m.Float(v.Type.Bits()), arg(0), uint32(op-ir.Real))
	case op == ir.Complex:
		x := arg(0)
		return f.complex(v.Type, x, arg(1))
	case op == ir.Convert:
		return f.convert(v)
	case op == ir.Neg && v.Type.Integer():
		return f.normal(v.Type, f.c.Op(build.OpSNegate, f.emitter.value(v.Type), arg(0)))
	case op == ir.Neg:
		return f.negative(v.Type, arg(0))
	case op == ir.Complement:
		return f.normal(v.Type, f.c.Op(build.OpNot, f.emitter.value(v.Type), arg(0)))
	case op == ir.Within || op == ir.UpTo:
		if f.Reports != Bounds {
			return arg(0)
		}
		x := arg(0)
		return f.limited(op, x, arg(1), v.Pos)
	case op == ir.Shl || op == ir.Shr:
		x := arg(0)
		return f.shift(v, x)
	case op.Compares() && f.narrow.Exact(v.Args[0]) && f.narrow.Computed(v):
		x := f.low(v.Args[0])
		return f.compare(op, ir.Basic(ir.I32), x, f.low(v.Args[1]))
	case op.Compares():
		x, y := f.operands(v)
		return f.compare(op, v.Args[0].Type, x, y)
	case op.Binary():
		if f.frame.f.Fast {
			if id := f.fast(v); id != 0 {
				return id
			}
		}
		x, y := f.operands(v)
		f.asked(v, y)
		return f.binary(op, v.Type, x, y, v.Args[1])
	case op == ir.Go:
		return f.mathematics(v)[0]
	case op == ir.Composite:
		return f.composite(v)
	case op == ir.Extract && v.Args[0].Type.Kind == ir.Tuple:
		return f.frame.tuples[v.Args[0].ID][v.Which[0]]
	case op == ir.Extract:
		return f.load(f.extracted(v))
	case op == ir.Atomic:
		return f.atomic(v)
	}
	panic(fmt.Sprintf("operation %s has no form in SPIR-V", v.Op)) // the verifier allows no other operation
}

// binary prints an operation on two numbers of a type. The parameter right is the value of the second operand, or nil if it is not known.
func (f *numbers) binary(op ir.Op, t *ir.Type, x, y isa.ID, right *ir.Value) isa.ID {
	switch {
	case t.Integer():
		return f.integers(op, t, x, y, right)
	case t.Float():
		return f.floats(op, t, x, y)
	}
	return f.complexes(op, t, x, y)
}

// constant returns a constant. A float is hidden from the driver's compiler: see the method unknown.
func (f *numbers) constant(t *ir.Type, c any) isa.ID {
	switch c := c.(type) {
	case bool:
		return f.m.Truth(c)
	case int64:
		return f.number(t, uint64(c))
	case uint64:
		return f.number(t, c)
	case float64:
		return f.unknownConst(t, c)
	case complex128:
		x := f.unknownConst(t.Part(), real(c))
		return f.complex(t, x, f.unknownConst(t.Part(), imag(c)))
	}
	return 0
}

// both prints && or ||.
func (f *values) both(v *ir.Value) isa.ID {
	left := f.expr(v.Args[0])
	right := func() isa.ID { return f.expr(v.Args[1]) }
	and := v.Op == ir.Both
	if f.harmless(v.Args[1]) {
		op := build.OpLogicalOr
		if and {
			op = build.OpLogicalAnd
		}
		return f.c.Op(op, f.m.Bool(), left, right())
	}
	known := func() isa.ID { return f.m.Truth(!and) }
	if and {
		return f.either(left, f.m.Bool(), right, known)
	}
	return f.either(left, f.m.Bool(), known, right)
}

// harmless reports whether a value can be evaluated even where Go does not evaluate it. Such a value reads no memory by an index, costs little, and reports
// nothing.
func (f *values) harmless(v *ir.Value) bool {
	return harmless(v) && (f.Reports != Bounds || facts.Pure(v))
}

func harmless(v *ir.Value) bool {
	if v.Bound {
		return true
	}
	switch v.Op {
	case ir.Go, ir.Within, ir.UpTo:
		return false
	case ir.Div, ir.Rem:
		if v.Args[1].Op != ir.Const {
			return false
		}
	case ir.Eq, ir.Ne:
		if !v.Args[0].Type.Number() && v.Args[0].Type.Kind != ir.Bool {
			return false
		}
	case ir.Load:
		if len(v.Place.Indexes()) > 0 {
			return false
		}
	case ir.Extract:
		if len(v.Args) > 1 {
			return false
		}
	case ir.Convert:
		if v.Type.Integer() && v.Args[0].Type.Float() {
			return false
		}
	}
	for _, a := range v.Args {
		if !harmless(a) {
			return false
		}
	}
	return true
}

// composite prints a structure or an array with given parts.
func (f *values) composite(v *ir.Value) isa.ID {
	t := v.Type
	if len(v.Args) == 0 {
		return f.zero(t)
	}
	given := make([]isa.ID, len(v.Args))
	for i, a := range v.Args {
		given[i] = f.narrowed(f.expr(a), t.Inner(v.Which[i]), build.Function)
	}
	if t.Kind == ir.Array && t.Len > 2*int64(len(given)) {
		id := f.zero(t)
		for i, x := range given {
			id = f.c.Op(build.OpCompositeInsert, f.part(t), x, id, uint32(v.Which[i]))
		}
		return id
	}
	all := make([]isa.ID, len(parts(t)))
	for i, x := range given {
		all[v.Which[i]] = x
	}
	for i, p := range parts(t) {
		if all[i] == 0 {
			all[i] = f.zeroAs(p, f.part)
		}
	}
	return f.c.Op(isa.OpCompositeConstruct, f.part(t), all...)
}

// mathematics prints a call of a function of package math, math/bits or math/cmplx, and returns its results.
func (f *values) mathematics(v *ir.Value) []isa.ID {
	pkg, name, _ := strings.Cut(v.Of, ".")
	if pkg == "math" {
		t, args := facts.MathOf(v)
		return f.mathOf(name, t, f.exprs(args))
	}
	args := f.exprs(v.Args)
	if pkg == "bits" {
		return f.bits(name, v.Args, args)
	}
	re, im := f.split(v.Args[0].Type, args[0])
	switch name {
	case "Abs":
		return f.lacking("Hypot", re, im)
	case "Phase":
		return f.lacking("Atan2", im, re)
	}
	return []isa.ID{f.complex(v.Type, re, f.negative(v.Type.Part(), im))}
}

func (f *values) exprs(list []*ir.Value) (all []isa.ID) {
	for _, v := range list {
		all = append(all, f.expr(v))
	}
	return all
}

// convert prints the conversion of a number to another type.
func (f *values) convert(v *ir.Value) isa.ID {
	from, to := v.Args[0].Type, v.Type
	typ := f.emitter.value(to)
	if name, args := facts.SingleMath(v); name == "Sqrt" && f.frame.f.Fast {
		return f.float(build.OpExtInst, typ, f.m.GLSL(), build.GLSLSqrt, f.expr(args[0]))
	} else if name == "FMA" && f.driver {
		return f.float(build.OpExtInst, typ, append([]uint32{f.m.GLSL(), build.GLSLFma}, f.exprs(args)...)...)
	} else if facts.ExactMath[name] {
		return f.mathOf(name, to, f.exprs(args))[0]
	}
	if from.Integer() && from.Bits() == 64 && f.narrow.Computed(v) && (!to.Integer() || to.Bits() < 64) {
		x := f.low(v.Args[0])
		if to.Integer() {
			return f.resized(x, ir.Basic(ir.I32), to)
		}
		return f.unknown(to, f.float(build.OpConvertSToF, typ, x))
	}
	switch x := f.expr(v.Args[0]); {
	case from.Integer() && to.Integer():
		return f.resized(x, from, to)
	case to.Complex():
		re, im := f.split(from, x)
		re = f.refloated(re, from.Part(), to.Part())
		return f.complex(to, re, f.refloated(im, from.Part(), to.Part()))
	case from.Float() && to.Float():
		return f.refloated(x, from, to)
	case from.Float():
		return f.cut(x, from, to)
	case from.Signed():
		return f.unknown(to, f.float(build.OpConvertSToF, typ, x))
	default:
		return f.unknown(to, f.float(build.OpConvertUToF, typ, x))
	}
}

// shift prints a shift of x. The shift count may be as large as the width of the shifted integer, or larger.
func (f *values) shift(v *ir.Value, x isa.ID) isa.ID {
	op, t, count := v.Op, v.Type, v.Args[1]
	typ, bits, u32 := f.emitter.value(t), uint64(t.Bits()), ir.Basic(ir.U32)
	code := build.OpShiftLeftLogical
	switch {
	case op == ir.Shr && t.Signed():
		code = build.OpShiftRightArithmetic
	case op == ir.Shr:
		code = build.OpShiftRightLogical
	}
	if n, known := upTo(count); known && n < bits {
		by := isa.ID(0)
		if count.Op == ir.Const {
			by = f.m.Const(32, n)
		} else {
			by = f.resized(f.expr(count), count.Type, u32)
		}
		id := f.c.Op(code, typ, x, by)
		if op == ir.Shl {
			return f.normal(t, id)
		}
		return id
	}
	n := f.expr(count)
	f.asked(v, n)
	all := f.c.Op(build.OpULessThan, f.m.Bool(), n, f.number(count.Type, bits))
	by := f.resized(n, count.Type, u32)
	if code == build.OpShiftRightArithmetic {
		return f.c.Op(code, typ, x, f.c.Op(build.OpSelect, f.m.Int(32), all, by, f.m.Const(32, bits-1)))
	}
	id := f.c.Op(build.OpSelect, typ, all, f.c.Op(code, typ, x, by), f.number(t, 0))
	if op == ir.Shl {
		return f.normal(t, id)
	}
	return id
}

// upTo returns an upper bound of an integer. The result known is false if no bound was found, or if the integer may be negative.
func upTo(v *ir.Value) (most uint64, known bool) {
	switch {
	case v.Op == ir.Const:
		if c, ok := v.Const.(int64); ok {
			return uint64(c), c >= 0
		}
		return v.Const.(uint64), true
	case v.Op == ir.And:
		for _, a := range v.Args {
			if most, known = upTo(a); known {
				return most, true
			}
		}
	case v.Op == ir.Convert && v.Args[0].Type.Integer() && v.Type.Bits() >= v.Args[0].Type.Bits():
		return upTo(v.Args[0])
	}
	return 0, false
}

// operands returns the two operands of an operation. If one operand is a float constant other than 0 and the other operand is not a constant, the constant need
// not be hidden, since the driver cannot compute the result: see the method unknown. A constant that does not fit in 32 bits must be hidden from the driver's
// compiler where it is compared: see number. For the same reason, an operand is hidden if the other
// one is computed from a number that is extended to 64 bits. For example, int(x) & -1 is such a number still, and the driver may know the value of the first
// operand if it comes from a table.
func (f *values) operands(v *ir.Value) (x, y isa.ID) {
	known := func(a, other *ir.Value) (isa.ID, bool) {
		wide := v.Op.Compares() && a.Type.Integer() && width(a.Type) == 64
		changed := other.Op != ir.Convert && f.extended(other)
		switch {
		case wide && a.Op == ir.Const && (changed || int64(int32(bitsOf(a.Const))) != int64(bitsOf(a.Const))):
			return f.unknownNumber(bitsOf(a.Const)), true
		case wide && changed:
			return f.c.Op(build.OpSelect, f.m.Int(64), f.never(), f.m.Const(64, 1), f.expr(a)), true
		}
		c, ok := a.Const.(float64)
		if a.Op != ir.Const || a.Bound || !ok || c == 0 || other.Op == ir.Const {
			return 0, false
		}
		return f.m.ConstFloat(a.Type.Bits(), c), true
	}
	x, ok := known(v.Args[0], v.Args[1])
	if !ok {
		x = f.expr(v.Args[0])
	}
	if y, ok = known(v.Args[1], v.Args[0]); !ok {
		y = f.expr(v.Args[1])
	}
	return x, y
}

// extended reports whether a value is computed from an integer that is extended to 64 bits.
func (f *values) extended(v *ir.Value) bool {
	if f.narrow.Value(v) && v.Op != ir.Const {
		return true
	}
	if v.Op == ir.Convert {
		return width(v.Type) == 64 && v.Args[0].Type.Integer() && width(v.Args[0].Type) == 32
	}
	return v.Type.Integer() && v.Op != ir.Load && slices.ContainsFunc(v.Args, f.extended)
}

// atomics are the atomic operations on signed integers, and on unsigned integers.
var atomics = map[string][2]isa.Op{
	"Add": {build.OpAtomicIAdd, build.OpAtomicIAdd}, "Min": {build.OpAtomicSMin, build.OpAtomicUMin}, "Max": {build.OpAtomicSMax, build.OpAtomicUMax},
	"And": {build.OpAtomicAnd, build.OpAtomicAnd}, "Or": {build.OpAtomicOr, build.OpAtomicOr}, "Xor": {build.OpAtomicXor, build.OpAtomicXor},
	"Exchange": {build.OpAtomicExchange, build.OpAtomicExchange}, "CompareExchange": {build.OpAtomicCompareExchange, build.OpAtomicCompareExchange},
}

// atomic prints an atomic operation. Atomic operations on floats are made of operations on the floats' bits.
func (f *values) atomic(v *ir.Value) isa.ID {
	t := v.Type
	indexes := f.indexes(v.Place)
	args := f.exprs(v.Args)
	p := f.at(v.Place, indexes)
	if t.Bits() == 64 {
		f.m.Need(build.Int64Atomics)
	}
	bits, word := t, f.m.Int(t.Bits())
	at := f.pointer(p)
	if t.Float() {
		bits = ir.Basic(map[int]ir.Kind{32: ir.U32, 64: ir.U64}[t.Bits()])
		if p.storage == isa.PhysicalStorage {
			f.m.Need(build.Int64) // which SwiftShader lacks, as it does the conversion of pointers
			at = f.c.Op(build.OpBitcast, f.m.Pointer(p.storage, word), at)
		}
		if v.Of != "Exchange" && v.Of != "CompareExchange" {
			return f.combined(v, at, args[0])
		}
		for i := range args {
			args[i] = f.c.Op(build.OpBitcast, word, args[i])
		}
	}
	op := atomics[v.Of][1]
	if t.Signed() {
		op = atomics[v.Of][0]
	}
	was := f.atomically(0, op, bits, at, args...)
	if t.Float() {
		return f.unknown(t, f.c.Op(build.OpBitcast, f.emitter.value(t), was))
	}
	return was
}

// combined prints an atomic operation on a float as a loop of compare-and-exchange. The first compare-and-exchange expects 0. If the value is another one, it
// returns that value, which the next round expects.
func (f *values) combined(v *ir.Value, at, arg isa.ID) isa.ID {
	t, bits := v.Type, ir.Basic(map[int]ir.Kind{32: ir.U32, 64: ir.U64}[v.Type.Bits()])
	word, op := f.m.Int(t.Bits()), map[string]ir.Op{"Add": ir.Add, "Min": ir.Min, "Max": ir.Max}[v.Of]
	l := f.enter(nil)
	next := f.m.ID()
	was := f.phi(word, f.m.Const(t.Bits(), 0), next, l)
	f.test(l, 0)
	old := f.unknown(t, f.c.Op(build.OpBitcast, f.emitter.value(t), was))
	made := f.c.Op(build.OpBitcast, word, f.floats(op, t, old, arg))
	f.atomically(next, build.OpAtomicCompareExchange, bits, at, was, made)
	same := f.c.Op(build.OpIEqual, f.m.Bool(), next, was)
	f.next(l)
	l.reached = true
	f.c.Do(build.OpBranchConditional, same, l.merge, l.header)
	f.after(l)
	return f.unknown(t, f.c.Op(build.OpBitcast, f.emitter.value(t), next))
}

// local returns the place of a local.
func (f *values) local(l *ir.Local) *place {
	if at := f.frame.locals[l.Index]; at != nil {
		return at
	}
	at := (*place)(nil)
	if l.Space == ir.Constant {
		at = f.table(l.Table)
	} else if l.Space == ir.Shared {
		typ := isa.ID(0)
		if l.Sized != nil {
			typ = f.sized(l.Type.Elem)
		} else {
			typ = f.shared(l.Type)
		}
		at = &place{typ: l.Type, storage: build.Workgroup, base: f.global(build.Workgroup, typ)}
	} else {
		t := l.Type
		if f.narrow.Local(l) {
			t = ir.Basic(ir.I32)
		}
		at = f.variable(t)
	}
	f.frame.locals[l.Index] = at
	return at
}

// indexes evaluates the indexes of a place.
func (f *values) indexes(p *ir.Place) (all []isa.ID) {
	for _, i := range p.Indexes() {
		switch {
		case f.narrow != nil:
			all = append(all, f.low(i))
		case i.Op == ir.Const:
			all = append(all, f.m.Const(width(i.Type), bitsOf(i.Const)))
		default:
			all = append(all, f.expr(i))
		}
	}
	return all
}

// at returns a place whose indexes are evaluated already.
func (f *values) at(p *ir.Place, indexes []isa.ID) *place {
	var at *place
	if p.Local != nil {
		at = f.local(p.Local)
	} else {
		at = f.frame.params[p.Param.Index].place
	}
	for _, s := range p.Path {
		pos := s.Pos
		if s.Index != nil && !pos.IsValid() {
			pos = s.Index.Pos
		}
		switch {
		case s.Col != nil:
			m := f.frame.params[p.Param.Index]
			at = at.element(f.memory, f.cell(indexes[0], indexes[1], m, pos))
			indexes = indexes[2:]
		case s.Index != nil && at.list:
			at = at.element(f.memory, f.element(s.Index, indexes[0], f.frame.params[p.Param.Index], pos))
			indexes = indexes[1:]
		case s.Index != nil:
			index := indexes[0]
			if s.Index.Op != ir.Const { // Go's compiler has checked constant indexes
				index = f.checkedIn(s.Index, index, at.typ.Len, pos)
			}
			at = at.inside(f.memory, at.typ.Elem, index, 0)
			indexes = indexes[1:]
		default:
			at = at.inside(f.memory, at.typ.Fields[s.Field].Type, f.m.Const(32, uint64(s.Field)), s.Field)
		}
	}
	return at
}

// source returns a place that has a value, from which a part is to be taken.
func (f *values) source(v *ir.Value) *place {
	switch {
	case v.Bound && f.frame.kept[v.ID] != nil:
		return f.frame.kept[v.ID]
	case v.Bound:
	case v.Op == ir.Argument && f.frame.params[v.Param.Index].place != nil:
		return f.frame.params[v.Param.Index].place
	case v.Op == ir.Extract && v.Args[0].Type.Kind != ir.Tuple:
		return f.extracted(v)
	}
	return &place{typ: v.Type, value: f.expr(v)}
}

// extracted returns the place of a part of a value.
func (f *values) extracted(v *ir.Value) *place {
	from := f.source(v.Args[0])
	if len(v.Args) == 1 {
		i := v.Which[0]
		return from.inside(f.memory, v.Type, f.m.Const(32, uint64(i)), i)
	}
	index := v.Args[1]
	if n, ok := index.Const.(int64); ok && n >= 0 {
		return from.inside(f.memory, v.Type, f.m.Const(32, uint64(n)), int(n))
	}
	id := f.as(index, f.narrow != nil)
	if from.value != 0 {
		at := f.variable(from.typ)
		f.store(at, from.value)
		from = at
	}
	return from.inside(f.memory, v.Type, f.checkedIn(index, id, v.Args[0].Type.Len, v.Pos), 0)
}
