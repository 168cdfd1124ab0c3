package spirv

import (
	isa "github.com/go-halyard/halyard/internal/spirv"
	"github.com/go-halyard/halyard/internal/spirv/build"
	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// fast prints an operation on floats in the form that fast functions have for it. If there is none, it returns 0. Vulkan bounds the errors
// of its own quotients and roots.
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

// known returns an operand. A constant is not hidden from the driver's compiler, unless it is 0.
func (f *values) known(v *ir.Value) isa.ID {
	if c, ok := v.Const.(float64); ok && c != 0 {
		return f.m.ConstFloat(v.Type.Bits(), c)
	}
	return f.expr(v)
}
