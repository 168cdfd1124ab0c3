package facts

import (
	"go/token"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/ir"
)

// Needs say where a function, with those that it calls, first uses what not every device has. Positions of what it does not use are not valid.
type Needs struct {
	Dims     int       // how many dimensions of the grid it uses
	DimsAt   token.Pos // where it uses the last of them
	Atomic64 token.Pos // an atomic operation of 64 bits
	Float64  token.Pos // a parameter that has a float64, or else a statement that computes with one
	Inexact  token.Pos // a function of package math on float32 whose result is not exact
}

// exactMath are the functions with results that are exact, or rounded once.
var exactMath = []string{"Sqrt", "Floor", "Ceil", "Trunc", "Abs", "Copysign", "Round", "RoundToEven", "Max", "Min"}

// NeedsOf finds what a function needs. of has those of the functions that it calls.
func NeedsOf(f *ir.Function, of map[*ir.Function]Needs) Needs {
	var n Needs
	first := func(at *token.Pos, pos token.Pos) {
		if !at.IsValid() {
			*at = pos
		}
	}
	wide := func(t *ir.Type) bool { return t.Kind == ir.F64 || t.Kind == ir.C128 }
	for _, m := range f.Params {
		if m.Type.Has(wide) {
			first(&n.Float64, m.Pos)
		}
	}
	single := map[*ir.Value]bool{} // they have type float64, and are computed in float32
	f.Body.Visit(nil, func(v *ir.Value) {
		for _, s := range singles(v) {
			single[s] = true
		}
	})
	uses := func(dims int, at token.Pos) {
		if dims > n.Dims {
			n.Dims, n.DimsAt = dims, at
		}
	}
	now := token.NoPos
	f.Body.Visit(func(s *ir.Stmt) { now = s.Pos }, func(v *ir.Value) {
		switch {
		case v.Op >= ir.InGrid && v.Op <= ir.AllBlocks:
			uses(v.Which[0]+1, v.Pos)
		case v.Op == ir.Atomic && v.Type.Bits() == 64:
			first(&n.Atomic64, v.Pos)
		case v.Op == ir.Go && single[v] && !slices.Contains(exactMath, strings.TrimPrefix(v.Of, "math.")):
			first(&n.Inexact, v.Pos)
		case v.Op == ir.Call:
			c := of[v.Call]
			uses(c.Dims, c.DimsAt)
			first(&n.Atomic64, c.Atomic64)
			first(&n.Float64, c.Float64)
			first(&n.Inexact, c.Inexact)
		}
		if v.Type != nil && v.Type.Has(wide) && !single[v] {
			first(&n.Float64, now)
		}
	})
	return n
}

// singles returns a call of a function of package math and its arguments if they are float32, and so is what becomes of the result.
func singles(v *ir.Value) []*ir.Value {
	narrow := func(a *ir.Value) bool {
		if a.Op == ir.Const && a.Type.Kind == ir.F64 {
			x := a.Const.(float64)
			return float64(float32(x)) == x
		}
		return a.Op == ir.Convert && !a.Bound && a.Type.Kind == ir.F64 && a.Args[0].Type.Kind == ir.F32
	}
	switch {
	case v.Op == ir.Go && slices.Contains([]string{"math.IsNaN", "math.IsInf", "math.Signbit"}, v.Of) && narrow(v.Args[0]) && v.Args[0].Op != ir.Const:
		return v.Args[:1]
	case v.Op != ir.Convert || v.Type.Kind != ir.F32 || v.Args[0].Op != ir.Go || v.Args[0].Bound || v.Args[0].Of == "math.FMA":
		return nil
	}
	call := v.Args[0]
	if !strings.HasPrefix(call.Of, "math.") || slices.ContainsFunc(call.Args, func(a *ir.Value) bool { return !narrow(a) }) {
		return nil
	}
	return append([]*ir.Value{call}, call.Args...)
}
