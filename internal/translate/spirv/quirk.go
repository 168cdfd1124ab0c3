package spirv

import (
	isa "github.com/go-halyard/halyard/internal/spirv"
	"github.com/go-halyard/halyard/internal/spirv/build"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// quotient prints the quotient or remainder of integers. NVIDIA's driver gives wrong remainders of negative integers of 64 bits, so remainders of signed
// integers are computed from the quotient.
func (f *numbers) quotient(op ir.Op, t *ir.Type, x, y isa.ID) isa.ID {
	typ := f.emitter.value(t)
	switch {
	case !t.Signed() && op == ir.Rem:
		return f.c.Op(build.OpUMod, typ, x, y)
	case !t.Signed():
		return f.c.Op(build.OpUDiv, typ, x, y)
	}
	q := f.c.Op(build.OpSDiv, typ, x, y)
	if op == ir.Div {
		return q
	}
	return f.c.Op(build.OpISub, typ, x, f.c.Op(build.OpIMul, typ, q, y))
}

// quotient32 prints the quotient of two float32. Vulkan allows an error of 2.5 units in the last place, and more for a root. A launch knows whether the device
// rounds correctly. If the device does not, functions of package vulkan correct the driver's result.
func (f *numbers) quotient32(x, y isa.ID) isa.ID {
	f32 := f.m.Float(32)
	if f.driver {
		return f.float(build.OpFDiv, f32, x, y)
	}
	return f.helper("quotient", f32, []isa.ID{f32, f32}, func(g *numbers, args []isa.ID) {
		g.c.Do(build.OpReturnValue, g.either(g.rounded(), f32,
			func() isa.ID { return g.float(build.OpFDiv, f32, args...) },
			func() isa.ID { return g.lacking("Quotient32", args...)[0] }))
	}, x, y)
}

// root32 prints the square root of a float32, as quotient32 prints a quotient.
func (f *numbers) root32(x isa.ID) isa.ID {
	f32 := f.m.Float(32)
	if f.driver {
		return f.float(build.OpExtInst, f32, f.m.GLSL(), build.GLSLSqrt, x)
	}
	return f.helper("root", f32, []isa.ID{f32}, func(g *numbers, args []isa.ID) {
		g.c.Do(build.OpReturnValue, g.either(g.rounded(), f32,
			func() isa.ID { return g.float(build.OpExtInst, f32, g.m.GLSL(), build.GLSLSqrt, args[0]) },
			func() isa.ID { return g.lacking("Root32", args...)[0] }))
	}, x)
}

// rounded returns a bool of the module that says whether the device rounds quotients and roots of float32 correctly.
func (f *code) rounded() isa.ID {
	if f.rounding == 0 {
		f.rounding = f.m.Global(build.OpSpecConstant, f.m.Int(32), 0)
		f.m.Decorate(f.rounding, isa.SpecID, isa.SpecRounded)
	}
	return f.c.Op(build.OpINotEqual, f.m.Bool(), f.rounding, f.m.Const(32, 0))
}
