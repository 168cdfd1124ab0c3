package facts

import (
	"math"

	"github.com/go-halyard/halyard/internal/translate/ir"
)

// Fused returns the product in a sum or difference if the function is fast and may compute both by one fused operation, and the operand
// beside the product. A product that Go code converts explicitly is not one of these: it is the operand of an [ir.Round]. If there is no
// such product, Fused returns nil.
func Fused(f *ir.Function, v *ir.Value) (product, other *ir.Value) {
	if f.Fast && v.Type.Float() && (v.Op == ir.Add || v.Op == ir.Sub) {
		for i, a := range v.Args {
			if a.Op == ir.Mul && !a.Bound {
				return a, v.Args[1-i]
			}
		}
	}
	return nil, nil
}

// Approximate reports whether the function is fast and may approximate a quotient of float32. If the divisor is a constant, the quotient
// becomes a product with the factor by; otherwise by is 0. If the divisor is the root of a number, of is that number; otherwise of is
// nil.
func Approximate(f *ir.Function, v *ir.Value) (of *ir.Value, by float64, ok bool) {
	if !f.Fast || v.Op != ir.Div || v.Type.Kind != ir.F32 {
		return nil, 0, false
	}
	y := v.Args[1]
	if c, constant := y.Const.(float64); constant {
		by := float64(1 / float32(c))
		return nil, by, math.Abs(by) >= 0x1p-126 && by-by == 0
	}
	if name, args := SingleMath(y); name == "Sqrt" && !y.Bound {
		return args[0], 0, true
	}
	return nil, 0, true
}
