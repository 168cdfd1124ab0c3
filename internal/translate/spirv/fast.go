package spirv

import (
	isa "github.com/go-halyard/halyard/internal/spirv"
	"github.com/go-halyard/halyard/internal/spirv/build"
	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// fast prints a fused or approximate form of an operation on floats, for fast functions. If the operation has no such form, it returns 0.
// Quotients and roots are those of the driver, whose errors Vulkan bounds.
func (f *values) fast(v *ir.Value) isa.ID {
	typ := f.emitter.value(v.Type)
	if product, other := facts.Fused(f.frame.f, v); product != nil {
		x, y := f.operands(product)
		z := f.known(other)
		switch {
		case v.Op == ir.Sub && product == v.Args[0]:
			z = f.float(build.OpFNegate, typ, z)
		case v.Op == ir.Sub:
			x = f.float(build.OpFNegate, typ, x)
		}
		return f.float(build.OpExtInst, typ, f.m.GLSL(), build.GLSLFma, x, y, z)
	}
	of, by, ok := facts.Approximate(f.frame.f, v)
	if !ok {
		return 0
	}
	x := f.known(v.Args[0])
	switch {
	case of != nil:
		return f.float(build.OpFMul, typ, x, f.float(build.OpExtInst, typ, f.m.GLSL(), build.GLSLInverseSqrt, f.expr(of)))
	case by != 0:
		return f.float(build.OpFMul, typ, x, f.m.ConstFloat(32, by))
	}
	return f.float(build.OpFDiv, typ, x, f.expr(v.Args[1]))
}

// known returns an operand. Constants other than 0 are not hidden from the driver's compiler.
func (f *values) known(v *ir.Value) isa.ID {
	if c, ok := v.Const.(float64); ok && c != 0 {
		return f.m.ConstFloat(v.Type.Bits(), c)
	}
	return f.expr(v)
}
