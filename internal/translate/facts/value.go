package facts

import (
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/ir"
)

// Constant returns the number of a constant, if it has a type of integers and fits in an int64.
func Constant(v *ir.Value) (int64, bool) {
	if v == nil || v.Op != ir.Const || !v.Type.Integer() {
		return 0, false
	}
	if n, ok := v.Const.(int64); ok {
		return n, true
	}
	n := int64(v.Const.(uint64))
	return n, n >= 0
}

// Holds reports whether a comparison of two numbers is true.
func Holds(x int64, op ir.Op, y int64) bool {
	return map[ir.Op]bool{ir.Lt: x < y, ir.Le: x <= y, ir.Gt: x > y, ir.Ge: x >= y, ir.Eq: x == y, ir.Ne: x != y}[op]
}

// Reads reports whether a value is computed, where it is used, from what is in a local.
func Reads(v *ir.Value, l *ir.Local) bool {
	return !v.Bound && (v.Place != nil && v.Place.Local == l || slices.ContainsFunc(v.Operands(), func(a *ir.Value) bool { return Reads(a, l) }))
}

// Loaded returns the local that a value reads as a whole, or nil.
func Loaded(v *ir.Value) *ir.Local {
	if v.Op != ir.Load || len(v.Place.Path) > 0 {
		return nil
	}
	return v.Place.Local
}

// Stored returns the local that a statement stores to as a whole, or nil.
func Stored(s *ir.Stmt) *ir.Local {
	if s.Do != ir.Store || len(s.Place.Path) > 0 {
		return nil
	}
	return s.Place.Local
}

// Copied returns the parameters that a function changes. At its beginning it copies each of them into a local.
func Copied(f *ir.Function) (all []*ir.Param) {
	for _, s := range f.Body.List {
		if s.Syntax == f.Syntax && Stored(s) != nil && s.Value.Op == ir.Argument {
			all = append(all, s.Value.Param)
		}
	}
	return all
}

// Single returns a value of type float32 that is equal to a float64: the operand of its conversion, or the constant itself if a float32 holds it exactly. If
// there is none, it returns nil.
func Single(v *ir.Value) *ir.Value {
	switch {
	case v.Op == ir.Const && v.Type.Kind == ir.F64:
		x := v.Const.(float64)
		if float64(float32(x)) != x {
			return nil
		}
		same := *v
		same.Type, same.Bound = ir.Basic(ir.F32), false
		return &same
	case v.Op == ir.Convert && !v.Bound && v.Type.Kind == ir.F64 && v.Args[0].Type.Kind == ir.F32:
		return v.Args[0]
	}
	return nil
}

// MathOf returns the type of floats in which a call of a function of package math is computed, and the operands of the call. The type is float32 for some
// functions whose result is the same in float32.
func MathOf(call *ir.Value) (*ir.Type, []*ir.Value) {
	switch call.Of {
	case "math.Float32bits", "math.Float32frombits", "math.FMA32":
		return ir.Basic(ir.F32), call.Args
	case "math.IsNaN", "math.IsInf", "math.Signbit":
		if x := Single(call.Args[0]); x != nil && x.Op != ir.Const {
			return ir.Basic(ir.F32), append([]*ir.Value{x}, call.Args[1:]...)
		}
	}
	return ir.Basic(ir.F64), call.Args
}

// SingleMath returns the name F and the float32 operands of a value of the form float32(math.F(float64(x))). For a value of another form, the name is "".
func SingleMath(v *ir.Value) (name string, args []*ir.Value) {
	if v.Op != ir.Convert || v.Type.Kind != ir.F32 || v.Args[0].Op != ir.Go || v.Args[0].Bound {
		return "", nil
	}
	name, ok := strings.CutPrefix(v.Args[0].Of, "math.")
	for _, a := range v.Args[0].Args {
		x := Single(a)
		args, ok = append(args, x), ok && x != nil
	}
	if !ok {
		return "", nil
	}
	return name, args
}

// Pure reports whether computing a value, with the operands that are computed with it, cannot panic and has no effect.
func Pure(v *ir.Value) bool {
	switch v.Op {
	case ir.Within, ir.UpTo, ir.Address, ir.Atomic, ir.Call:
		return false
	case ir.Load:
		if len(v.Place.Indexes()) > 0 {
			return false
		}
	case ir.Extract:
		if len(v.Args) > 1 {
			return false
		}
	}
	return !Panics(v) && !slices.ContainsFunc(v.Operands(), func(a *ir.Value) bool { return !a.Bound && !Pure(a) })
}

// Panics reports whether a value is a quotient or remainder of integers whose divisor may be 0, or a shift whose count may be negative.
func Panics(v *ir.Value) bool {
	switch v.Op {
	case ir.Div, ir.Rem:
		n, ok := Constant(v.Args[1])
		return v.Type.Integer() && (!ok || n == 0)
	case ir.Shl, ir.Shr:
		n, ok := Constant(v.Args[1])
		return v.Args[1].Type.Signed() && (!ok || n < 0)
	}
	return false
}

// SamePlace reports whether two places are the same whenever both are used, because they are made of the same values: see [SameValue]. For places that are the
// same only for some values of their indexes, it returns false.
func SamePlace(p, q *ir.Place, stays func(*ir.Place) bool) bool {
	return p.Local == q.Local && p.Param == q.Param && slices.EqualFunc(p.Path, q.Path, func(s, t ir.Part) bool {
		return s.Field == t.Field && SameValue(s.Index, t.Index, stays) && SameValue(s.Col, t.Col, stays)
	})
}

// changing is an argument for the parameter stays of [SameValue]. It assumes that every place changes.
func changing(*ir.Place) bool { return false }

// SameValue reports whether v and w are the same value, or are computed alike from what does not change within a round of the loops around both. stays(p)
// reports that the contents of the place p do not change.
func SameValue(v, w *ir.Value, stays func(*ir.Place) bool) bool {
	switch {
	case v == w || v == nil || w == nil:
		return v == w
	case v.Bound || w.Bound || v.Op != w.Op || !v.Type.Same(w.Type) || v.Const != w.Const || v.Param != w.Param || v.Of != w.Of || !slices.Equal(v.Which, w.Which):
		return false
	case v.Place != nil:
		return v.Op == ir.Load && stays(v.Place) && SamePlace(v.Place, w.Place, stays)
	}
	return slices.EqualFunc(v.Args, w.Args, func(a, b *ir.Value) bool { return SameValue(a, b, stays) })
}

// Negated returns the comparison of integers that holds where op does not hold.
func Negated(op ir.Op) ir.Op {
	return map[ir.Op]ir.Op{ir.Lt: ir.Ge, ir.Ge: ir.Lt, ir.Gt: ir.Le, ir.Le: ir.Gt, ir.Eq: ir.Ne, ir.Ne: ir.Eq}[op]
}

// Mirrored returns the comparison m for which "y m x" is the same as "x op y": for < it returns >.
func Mirrored(op ir.Op) ir.Op {
	return map[ir.Op]ir.Op{ir.Lt: ir.Gt, ir.Gt: ir.Lt, ir.Le: ir.Ge, ir.Ge: ir.Le, ir.Eq: ir.Eq, ir.Ne: ir.Ne}[op]
}

// implicit reports whether Go has no text for a value in a statement, such as the 0 at which a range begins.
func implicit(v *ir.Value, s *ir.Stmt) bool { return v.Pos == s.Pos }

// Wires returns how many arguments of a launch pass a parameter of a type.
func Wires(t *ir.Type) int {
	switch t.Kind {
	case ir.Matrix:
		return 3
	case ir.Slice:
		return 2
	}
	return 1
}
