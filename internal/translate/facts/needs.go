package facts

import (
	"go/token"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/ir"
)

// Needs say where a function, with the functions that it calls, first uses what not every device has. The position of a need that the function does not have is
// not valid.
type Needs struct {
	Dims     int       // how many dimensions of the grid it uses
	DimsAt   token.Pos // where it first uses the last of these dimensions
	Atomic64 token.Pos // an atomic operation of 64 bits
	Float64  token.Pos // a parameter that has a float64, or else a statement that computes with one
	Inexact  token.Pos // a function of package math on float32 whose result is not exact
}

// ExactMath are the functions of package math whose results, computed in float32, are equal to the results in float64 rounded to float32.
var ExactMath = map[string]bool{"Sqrt": true, "Floor": true, "Ceil": true, "Trunc": true, "Abs": true, "Copysign": true, "Round": true, "RoundToEven": true,
	"Max": true, "Min": true}

// NeedsOf finds what a function needs. The needs of the functions that it calls are in the map named of.
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
	single := map[*ir.Value]bool{} // values of type float64 that are computed in float32
	f.Body.Visit(nil, func(v *ir.Value) {
		var args []*ir.Value
		if name, _ := SingleMath(v); name != "" && name != "FMA" && name != "NaN" {
			single[v.Args[0]] = true
			args = v.Args[0].Args
			if !ExactMath[name] {
				first(&n.Inexact, v.Args[0].Pos)
			}
		} else if v.Op == ir.Go && strings.HasPrefix(v.Of, "math.") {
			if t, _ := MathOf(v); t.Kind == ir.F32 {
				args = v.Args[:1]
			}
		}
		for _, a := range args {
			single[a] = true
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
		case v.Op >= ir.InGrid && v.Op <= ir.AllBlocks && v.Of == "":
			uses(v.Which[0]+1, v.Pos)
		case v.Op == ir.Atomic && v.Type.Bits() == 64:
			first(&n.Atomic64, v.Pos)
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
