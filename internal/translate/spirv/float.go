package spirv

import (
	"fmt"

	isa "github.com/go-halyard/halyard/internal/spirv"
	"github.com/go-halyard/halyard/internal/spirv/build"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// floats prints an operation on two floats of a type.
func (f *numbers) floats(op ir.Op, t *ir.Type, x, y isa.ID) isa.ID {
	typ := f.emitter.value(t)
	switch op {
	case ir.Min, ir.Max:
		return f.extreme(op, t, x, y)
	case ir.Div:
		if t.Kind == ir.F32 {
			return f.quotient32(x, y)
		}
	}
	return f.float(map[ir.Op]isa.Op{ir.Add: build.OpFAdd, ir.Sub: build.OpFSub, ir.Mul: build.OpFMul, ir.Div: build.OpFDiv}[op], typ, x, y)
}

// extreme prints min or max. A NaN wins, and -0 is less than 0.
func (f *numbers) extreme(op ir.Op, t *ir.Type, x, y isa.ID) isa.ID {
	typ, word := f.emitter.value(t), f.m.Int(t.Bits())
	choose := func(cond, yes, no isa.ID) isa.ID { return f.c.Op(build.OpSelect, typ, cond, yes, no) }
	is := func(op ir.Op, x, y isa.ID) isa.ID { return f.compare(op, t, x, y) }
	bits, wins := build.OpBitwiseOr, ir.Lt // if two numbers are equal and their bits differ, they are zeros
	if op == ir.Max {
		bits, wins = build.OpBitwiseAnd, ir.Gt
	}
	both := f.c.Op(build.OpBitcast, typ, f.c.Op(bits, word, f.c.Op(build.OpBitcast, word, x), f.c.Op(build.OpBitcast, word, y)))
	other := choose(is(wins, y, x), y, choose(is(ir.Eq, x, y), both, x))
	return choose(is(ir.Ne, x, x), x, choose(is(ir.Ne, y, y), y, other))
}

// negative returns a float or a complex number with the other sign.
func (f *numbers) negative(t *ir.Type, x isa.ID) isa.ID {
	if t.Complex() {
		re, im := f.split(t, x)
		re = f.negative(t.Part(), re)
		return f.complex(t, re, f.negative(t.Part(), im))
	}
	return f.float(build.OpFNegate, f.emitter.value(t), x)
}

// complex returns the complex number with the parts re and im.
func (f *numbers) complex(t *ir.Type, re, im isa.ID) isa.ID {
	return f.c.Op(isa.OpCompositeConstruct, f.emitter.value(t), re, im)
}

func (f *numbers) split(t *ir.Type, x isa.ID) (re, im isa.ID) {
	typ := f.m.Float(t.Part().Bits())
	re = f.c.Op(build.OpCompositeExtract, typ, x, 0)
	return re, f.c.Op(build.OpCompositeExtract, typ, x, 1)
}

// complexes prints an operation on two complex numbers. Products and quotients of complex64 are computed in float64 and rounded at the end, as Go does.
func (f *numbers) complexes(op ir.Op, t *ir.Type, x, y isa.ID) isa.ID {
	part, wide := t.Part(), ir.Basic(ir.F64)
	a, b := f.split(t, x)
	c, d := f.split(t, y)
	if op == ir.Add || op == ir.Sub {
		re := f.floats(op, part, a, c)
		return f.complex(t, re, f.floats(op, part, b, d))
	}
	for _, n := range []*isa.ID{&a, &b, &c, &d} {
		*n = f.refloated(*n, part, wide)
	}
	var re, im isa.ID
	if op == ir.Mul {
		times := func(x, y isa.ID) isa.ID { return f.floats(ir.Mul, wide, x, y) }
		re = f.floats(ir.Sub, wide, times(a, c), times(b, d))
		im = f.floats(ir.Add, wide, times(a, d), times(b, c))
	} else {
		q := f.lacking("ComplexQuotient", a, b, c, d)
		re, im = q[0], q[1]
	}
	re = f.refloated(re, wide, part)
	return f.complex(t, re, f.refloated(im, wide, part))
}

// refloated converts a float to another type of floats.
func (f *numbers) refloated(id isa.ID, from, to *ir.Type) isa.ID {
	if from.Kind == to.Kind {
		return id
	}
	return f.float(build.OpFConvert, f.emitter.value(to), id)
}

// cut converts a float to an integer. If the integer type cannot hold the float, the result is that of Go on amd64.
func (f *numbers) cut(x isa.ID, from, to *ir.Type) isa.ID {
	i32, i64, u64 := ir.Basic(ir.I32), ir.Basic(ir.I64), ir.Basic(ir.U64)
	switch {
	case to.Bits() < 32:
		return f.resized(f.cutWithin(x, from, i32), i32, to)
	case to.Kind == ir.U32:
		return f.resized(f.cutWithin(x, from, i64), i64, to)
	case to.Signed():
		return f.cutWithin(x, from, to)
	}
	return f.helper(fmt.Sprint("cut ", from.Kind, " ", u64.Kind), f.m.Int(64), []isa.ID{f.emitter.value(from)}, func(g *numbers, args []isa.ID) {
		word, edge := g.m.Int(64), g.m.ConstFloat(from.Bits(), 1<<63)
		low := g.cutWithin(args[0], from, i64)
		high := g.cutWithin(g.floats(ir.Sub, from, args[0], edge), from, i64)
		high = g.c.Op(build.OpBitwiseOr, word, high, g.m.Const(64, 1<<63))
		less := g.compare(ir.Lt, from, args[0], edge)
		g.c.Do(build.OpReturnValue, g.c.Op(build.OpSelect, word, less, low, high))
	}, x)
}

// cutWithin converts a float to an int32 or an int64. If that type cannot hold the float, the result is the type's lowest number.
func (f *numbers) cutWithin(x isa.ID, from, to *ir.Type) isa.ID {
	typ := f.emitter.value(to)
	return f.helper(fmt.Sprint("cut ", from.Kind, " ", to.Bits()), typ, []isa.ID{f.emitter.value(from)}, func(g *numbers, args []isa.ID) {
		edge := float64(uint64(1) << (to.Bits() - 1))
		low, is := -edge, ir.Ge
		if from.Kind == ir.F64 && to.Bits() == 32 {
			low, is = -edge-1, ir.Gt
		}
		above := g.compare(is, from, args[0], g.m.ConstFloat(from.Bits(), low))
		below := g.compare(ir.Lt, from, args[0], g.m.ConstFloat(from.Bits(), edge))
		fits := g.c.Op(build.OpLogicalAnd, g.m.Bool(), above, below)
		cut := g.float(build.OpConvertFToS, typ, args[0])
		g.c.Do(build.OpReturnValue, g.c.Op(build.OpSelect, typ, fits, cut, g.m.Const(to.Bits(), 1<<(to.Bits()-1))))
	}, x)
}
