package spirv

import (
	"fmt"

	isa "github.com/go-halyard/halyard/internal/spirv"
	"github.com/go-halyard/halyard/internal/spirv/build"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// normal returns an integer truncated to the width of its type, and extended again: its higher bits become copies of the sign, or 0.
func (f *numbers) normal(t *ir.Type, id isa.ID) isa.ID {
	if t.Bits() >= 32 {
		return id
	}
	u32 := f.m.Int(32)
	if t.Signed() {
		by := f.m.Const(32, uint64(32-t.Bits()))
		return f.c.Op(build.OpShiftRightArithmetic, u32, f.c.Op(build.OpShiftLeftLogical, u32, id, by), by)
	}
	return f.c.Op(build.OpBitwiseAnd, u32, id, f.m.Const(32, 1<<t.Bits()-1))
}

// resized converts an integer to another type of integers.
func (f *numbers) resized(id isa.ID, from, to *ir.Type) isa.ID {
	switch {
	case width(from) == width(to):
	case from.Signed():
		id = f.c.Op(build.OpSConvert, f.emitter.value(to), id)
	default:
		id = f.c.Op(build.OpUConvert, f.emitter.value(to), id)
	}
	if from.Bits() < to.Bits() && (!from.Signed() || to.Signed()) || from.Bits() == to.Bits() && from.Signed() == to.Signed() {
		return id
	}
	return f.normal(to, id)
}

// integers prints an operation on two integers of a type.
func (f *numbers) integers(op ir.Op, t *ir.Type, x, y isa.ID, right *ir.Value) isa.ID {
	typ := f.emitter.value(t)
	if code, ok := wrapping[op]; ok {
		return f.normal(t, f.c.Op(code, typ, x, y))
	}
	switch op {
	case ir.And:
		return f.c.Op(build.OpBitwiseAnd, typ, x, y)
	case ir.Or:
		return f.c.Op(build.OpBitwiseOr, typ, x, y)
	case ir.Xor:
		return f.c.Op(build.OpBitwiseXor, typ, x, y)
	case ir.AndNot:
		return f.c.Op(build.OpBitwiseAnd, typ, x, f.c.Op(build.OpNot, typ, y))
	case ir.Min:
		return f.c.Op(build.OpSelect, typ, f.compare(ir.Lt, t, y, x), y, x)
	case ir.Max:
		return f.c.Op(build.OpSelect, typ, f.compare(ir.Gt, t, y, x), y, x)
	}
	if divides(right) {
		return f.quotient(op, t, x, y)
	}
	return f.helper(fmt.Sprint(op, " ", t.Kind), typ, []isa.ID{typ, typ}, func(g *numbers, args []isa.ID) {
		g.c.Do(build.OpReturnValue, g.anyQuotient(op, t, args[0], args[1]))
	}, x, y)
}

// wrapping has the operations whose results may need more bits than their type has.
var wrapping = map[ir.Op]isa.Op{ir.Add: isa.OpIAdd, ir.Sub: build.OpISub, ir.Mul: build.OpIMul}

// divides reports whether a divisor is known, and neither 0 nor -1.
func divides(v *ir.Value) bool {
	if v == nil || v.Op != ir.Const {
		return false
	}
	switch c := v.Const.(type) {
	case int64:
		return c != 0 && c != -1
	case uint64:
		return c != 0
	}
	return false
}

// anyQuotient prints a quotient or remainder for any divisor. If the divisor is 0, Go panics; here the result is 0.
func (f *numbers) anyQuotient(op ir.Op, t *ir.Type, x, y isa.ID) isa.ID {
	typ, zero, one := f.emitter.value(t), f.number(t, 0), f.number(t, 1)
	none := f.compare(ir.Eq, t, y, zero)
	special, minus := none, isa.ID(0)
	if t.Signed() {
		minus = f.compare(ir.Eq, t, y, f.number(t, ^uint64(0)))
		special = f.c.Op(build.OpLogicalOr, f.m.Bool(), none, minus)
	}
	q := f.quotient(op, t, x, f.c.Op(build.OpSelect, typ, special, one, y))
	if op == ir.Rem {
		return q
	}
	q = f.c.Op(build.OpSelect, typ, none, zero, q)
	if t.Signed() {
		q = f.c.Op(build.OpSelect, typ, minus, f.normal(t, f.c.Op(build.OpSNegate, typ, x)), q)
	}
	return q
}

// compare prints a comparison.
func (f *numbers) compare(op ir.Op, t *ir.Type, x, y isa.ID) isa.ID {
	truth := f.m.Bool()
	kind := 0
	switch {
	case t.Float():
		return f.float(comparisons[op][2], truth, x, y)
	case t.Kind == ir.Bool && op == ir.Eq:
		return f.c.Op(build.OpLogicalEqual, truth, x, y)
	case t.Kind == ir.Bool:
		return f.c.Op(build.OpLogicalNotEqual, truth, x, y)
	case !t.Integer():
		same := f.same(t, x, y)
		if op == ir.Ne {
			return f.c.Op(build.OpLogicalNot, truth, same)
		}
		return same
	case !t.Signed():
		kind = 1
	}
	return f.c.Op(comparisons[op][kind], truth, x, y)
}

// comparisons are the instructions for signed integers, for unsigned integers, and for floats.
var comparisons = map[ir.Op][3]isa.Op{
	ir.Eq: {build.OpIEqual, build.OpIEqual, build.OpFOrdEqual},
	ir.Ne: {build.OpINotEqual, build.OpINotEqual, build.OpFUnordNotEqual},
	ir.Lt: {build.OpSLessThan, build.OpULessThan, build.OpFOrdLessThan},
	ir.Le: {build.OpSLessThanEqual, build.OpULessThanEqual, build.OpFOrdLessThanEqual},
	ir.Gt: {build.OpSGreaterThan, build.OpUGreaterThan, build.OpFOrdGreaterThan},
	ir.Ge: {build.OpSGreaterThanEqual, build.OpUGreaterThanEqual, build.OpFOrdGreaterThanEqual},
}

// fewElements is the length of the longest arrays that are compared without a loop.
const fewElements = 8

// same prints the comparison of two structures, arrays or complex numbers for equality.
func (f *numbers) same(t *ir.Type, x, y isa.ID) isa.ID {
	if t.Kind == ir.Array && t.Len > fewElements {
		typ := f.emitter.value(t)
		return f.helper("equal"+key(t), f.m.Bool(), []isa.ID{typ, typ}, func(g *numbers, args []isa.ID) { g.sameElements(t, args) }, x, y)
	}
	all := isa.ID(0)
	for i, p := range parts(t) {
		if t.Kind == ir.Struct && t.Fields[i].Name == "_" {
			continue
		}
		of := func(v isa.ID) isa.ID { return (&place{typ: t, value: v}).inside(f.memory, p, 0, i).value }
		one := f.compare(ir.Eq, p, of(x), of(y))
		if all != 0 {
			one = f.c.Op(build.OpLogicalAnd, f.m.Bool(), all, one)
		}
		all = one
	}
	if all == 0 {
		return f.m.Truth(true)
	}
	return all
}

// sameElements prints the body of a function that compares two arrays.
func (f *numbers) sameElements(t *ir.Type, args []isa.ID) {
	x, y := f.variable(t), f.variable(t)
	f.store(x, args[0])
	f.store(y, args[1])
	f.rounds(f.m.Const(32, uint64(t.Len)), func(i isa.ID) {
		same := f.compare(ir.Eq, t.Elem, f.load(x.inside(f.memory, t.Elem, i, 0)), f.load(y.inside(f.memory, t.Elem, i, 0)))
		differs := f.c.Op(build.OpLogicalNot, f.m.Bool(), same)
		f.conditional(differs, func() { f.c.Do(build.OpReturnValue, f.m.Truth(false)) }, nil)
	})
	f.c.Do(build.OpReturnValue, f.m.Truth(true))
}

// atomically prints an atomic operation on an integer, and returns the ID of its result. That is the argument id, or a new ID if the argument is 0.
func (f *numbers) atomically(id isa.ID, op isa.Op, t *ir.Type, at isa.ID, args ...isa.ID) isa.ID {
	const device, relaxed = 1, 0
	list := []uint32{at, f.m.Const(32, device), f.m.Const(32, relaxed)}
	if op == build.OpAtomicCompareExchange {
		list = append(list, f.m.Const(32, relaxed), args[1], args[0])
	} else {
		list = append(list, args[0])
	}
	typ := f.emitter.value(t)
	if id == 0 {
		id = f.m.ID()
	}
	f.c.As(op, typ, id, list...)
	return id
}

// inGrid returns one of the numbers for the thread's place in the grid, or for the grid's size, as an integer of 32 or 64 bits.
func (f *numbers) inGrid(op ir.Op, d, bits int) isa.ID {
	u32, typ := f.m.Int(32), f.m.Int(bits)
	return f.once(fmt.Sprint(op, d, " ", bits), func() isa.ID {
		as := func(id isa.ID) isa.ID {
			if bits == 32 {
				return id
			}
			return f.c.Early(build.OpUConvert, typ, id)
		}
		three := func(builtin uint32) isa.ID {
			all := f.once(fmt.Sprint("input ", builtin), func() isa.ID {
				return f.c.Early(isa.OpLoad, f.m.Type(isa.OpTypeVector, u32, 3), f.input(builtin))
			})
			return as(f.c.Early(build.OpCompositeExtract, u32, all, uint32(d)))
		}
		switch op {
		case ir.InGrid:
			first := f.c.Early(build.OpIMul, typ, f.inGrid(ir.BlockOf, d, bits), f.inGrid(ir.Threads, d, bits))
			return f.c.Early(isa.OpIAdd, typ, first, f.inGrid(ir.InBlock, d, bits))
		case ir.InBlock:
			return three(build.LocalInvocationID)
		case ir.BlockOf:
			return three(isa.WorkgroupID)
		case ir.Threads:
			return as(f.threads[d])
		}
		return three(isa.NumWorkgroups)
	})
}
