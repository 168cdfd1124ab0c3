package spirv

import (
	isa "github.com/go-halyard/halyard/internal/spirv"
	"github.com/go-halyard/halyard/internal/spirv/build"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

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

// comparisons are the instructions: on integers with a sign, on those without, and on floats.
var comparisons = map[ir.Op][3]isa.Op{
	ir.Eq: {build.OpIEqual, build.OpIEqual, build.OpFOrdEqual},
	ir.Ne: {build.OpINotEqual, build.OpINotEqual, build.OpFUnordNotEqual},
	ir.Lt: {build.OpSLessThan, build.OpULessThan, build.OpFOrdLessThan},
	ir.Le: {build.OpSLessThanEqual, build.OpULessThanEqual, build.OpFOrdLessThanEqual},
	ir.Gt: {build.OpSGreaterThan, build.OpUGreaterThan, build.OpFOrdGreaterThan},
	ir.Ge: {build.OpSGreaterThanEqual, build.OpUGreaterThanEqual, build.OpFOrdGreaterThanEqual},
}

// fewElements is how many elements of an array are compared one after the other; more are compared in a loop.
const fewElements = 8

// same returns whether two structures, arrays or complex numbers are equal.
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

// parts returns the types of the elements or fields of a type.
func parts(t *ir.Type) []*ir.Type {
	if t.Kind != ir.Array {
		return fields(t)
	}
	all := make([]*ir.Type, t.Len)
	for i := range all {
		all[i] = t.Elem
	}
	return all
}

// sameElements prints the body of a function that compares two arrays.
func (f *numbers) sameElements(t *ir.Type, args []isa.ID) {
	x, y := f.variable(t), f.variable(t)
	f.store(x, args[0])
	f.store(y, args[1])
	f.rounds(f.number(ir.Basic(ir.Int), uint64(t.Len)), func(i isa.ID) {
		same := f.compare(ir.Eq, t.Elem, f.load(x.inside(f.memory, t.Elem, i, 0)), f.load(y.inside(f.memory, t.Elem, i, 0)))
		differs := f.c.Op(build.OpLogicalNot, f.m.Bool(), same)
		f.conditional(differs, func() { f.c.Do(build.OpReturnValue, f.m.Truth(false)) }, nil)
	})
	f.c.Do(build.OpReturnValue, f.m.Truth(true))
}
