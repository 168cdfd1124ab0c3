package spirv

import (
	"fmt"
	"math"

	isa "github.com/go-halyard/halyard/internal/spirv"
	"github.com/go-halyard/halyard/internal/spirv/build"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// unknown hides the value of a float from the driver's compiler. If Mesa's drivers for processors know that an operand is zero, they change results: x*0
// becomes 0 even for a negative x or a NaN, x+0 becomes x although -0+0 is 0, and 0/x becomes 0. The compiler knows a zero that is a constant of the module. It
// also knows a zero that it can compute, from a variable that has a constant, or from the thread's index in a dimension in which blocks have one thread. So
// each float with which a computation begins is hidden: a constant, a converted integer, or the bits of an integer. The hidden float is the result of a select.
// Its condition, that the grid has no blocks, is never true, but the compiler cannot know this.
func (f *code) unknown(t *ir.Type, id isa.ID) isa.ID {
	return f.c.Op(build.OpSelect, f.m.Float(t.Bits()), f.never(), f.m.ConstFloat(t.Bits(), 2), id)
}

// unknownConst hides a constant as the method unknown does. The select is at the start of the function.
func (f *code) unknownConst(t *ir.Type, c float64) isa.ID {
	never := f.never()
	return f.once(fmt.Sprint(t.Bits(), " ", math.Float64bits(c)), func() isa.ID {
		return f.c.Early(build.OpSelect, f.m.Float(t.Bits()), never, f.m.ConstFloat(t.Bits(), 2), f.m.ConstFloat(t.Bits(), c))
	})
}

// hidden hides the floats of a value that is read from a table. Drivers do not analyze values that are larger than mostUnknown.
func (f *code) hidden(id isa.ID, t *ir.Type) isa.ID {
	switch {
	case t.Float():
		return f.unknown(t, id)
	case !hasFloat(t) || size(t) > mostUnknown:
		return id
	}
	var all []isa.ID
	for i, p := range parts(t) {
		all = append(all, f.hidden(f.c.Op(build.OpCompositeExtract, f.part(p), id, uint32(i)), p))
	}
	return f.c.Op(isa.OpCompositeConstruct, f.part(t), all...)
}

func (f *code) never() isa.ID {
	return f.once("never", func() isa.ID {
		u32 := f.m.Int(32)
		all := f.c.Early(isa.OpLoad, f.m.Type(isa.OpTypeVector, u32, 3), f.input(isa.NumWorkgroups))
		return f.c.Early(build.OpIEqual, f.m.Bool(), f.c.Early(build.OpCompositeExtract, u32, all, 0), f.m.Const(32, 0))
	})
}

// number returns a constant of a type of integers. A constant of 64 bits that fits in 32 bits is made by extending a constant of 32 bits. The reason is that
// Mesa 22.3 compares wrongly if one side is a number extended from 32 to 64 bits and the other is a constant of 64 bits, as in int(x) >= 0 for an int32. For
// larger constants see the method operands.
func (f *code) number(t *ir.Type, c uint64) isa.ID {
	if width(t) == 32 || int64(int32(c)) != int64(c) {
		return f.m.Const(width(t), c)
	}
	return f.once(fmt.Sprint("number ", int64(c)), func() isa.ID { return f.c.Early(build.OpSConvert, f.m.Int(64), f.m.Const(32, c)) })
}

// unknownNumber returns a constant of 64 bits whose value is hidden from the driver's compiler: see the method unknown.
func (f *code) unknownNumber(c uint64) isa.ID {
	never := f.never()
	return f.once(fmt.Sprint("unknown ", c), func() isa.ID {
		return f.c.Early(build.OpSelect, f.m.Int(64), never, f.m.Const(64, c^1), f.m.Const(64, c))
	})
}

// mostUnknown is the size, in bytes, of the largest arrays and structures whose zero value is made of hidden zeros. Drivers do not analyze larger values.
const mostUnknown = 256

// zero returns the zero value of a type. zeroAs does so for a part of a structure or an array, which may have another type in SPIR-V.
func (f *numbers) zero(t *ir.Type) isa.ID { return f.zeroAs(t, f.emitter.value) }

func (f *numbers) zeroAs(t *ir.Type, typ func(*ir.Type) isa.ID) isa.ID {
	switch {
	case t.Float():
		return f.unknownConst(t, 0)
	case !hasFloat(t) || size(t) > mostUnknown:
		return f.m.Null(typ(t))
	}
	var all []isa.ID
	for _, p := range parts(t) {
		all = append(all, f.zeroAs(p, f.part))
	}
	return f.c.Op(isa.OpCompositeConstruct, typ(t), all...)
}
