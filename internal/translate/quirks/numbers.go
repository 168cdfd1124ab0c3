package quirks

import "github.com/go-halyard/halyard/internal/translate/ir"

// Complement returns the integer x if a value is the complement of x, in any form. Otherwise it returns nil.
//
// Intel's compiler complements once too often in a loop such as n += min(^x, n) or n += max(^x, n). So the text hides the complement from that compiler.
func Complement(v *ir.Value) *ir.Value {
	switch {
	case v.Op == ir.Complement:
		return v.Args[0]
	case v.Op == ir.Sub && ones(v.Args[0]), v.Op == ir.Xor && ones(v.Args[0]):
		return v.Args[1]
	case v.Op == ir.Xor && ones(v.Args[1]):
		return v.Args[0]
	}
	return nil
}

// Minus returns the integer x if a value is -x. Otherwise it returns nil. Since -x - 1 is the complement of x, the text hides a negation as well.
func Minus(v *ir.Value) *ir.Value {
	switch {
	case !v.Type.Integer():
	case v.Op == ir.Neg:
		return v.Args[0]
	case v.Op == ir.Sub && Constant(v.Args[0], 0):
		return v.Args[1]
	}
	return nil
}

// ones reports whether a value is the integer whose bits are all ones.
func ones(v *ir.Value) bool {
	if !v.Type.Integer() || v.Op != ir.Const {
		return false
	}
	if x, ok := v.Const.(uint64); ok {
		return x == 1<<v.Type.Bits()-1
	}
	return v.Const == int64(-1)
}

// Constant reports whether a value is the constant n.
func Constant(v *ir.Value, n int64) bool {
	if v.Op != ir.Const {
		return false
	}
	switch x := v.Const.(type) {
	case int64:
		return x == n
	case uint64:
		return n >= 0 && x == uint64(n)
	case float64:
		return x == float64(n)
	}
	return false
}
