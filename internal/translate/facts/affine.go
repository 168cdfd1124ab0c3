package facts

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/ir"
)

// Form is an integer as a sum of products: factors by the names of what they are multiplied with, such as n*Global0. The name of the constant is "".
// It is exact if no sum or product in it wraps.
type Form map[string]int64

func (f Form) String() string {
	var names []string
	for n := range f {
		names = append(names, n)
	}
	slices.Sort(names)
	var all []string
	for _, n := range names {
		switch k := f[n]; {
		case n == "":
			all = append(all, fmt.Sprint(k))
		case k == 1:
			all = append(all, n)
		default:
			all = append(all, fmt.Sprintf("%d*%s", k, n))
		}
	}
	if len(all) == 0 {
		return "0"
	}
	return strings.Join(all, " + ")
}

// Forms are the forms of the values of a function.
type Forms struct {
	names map[int]string // of the symbols, by a value's ID
	taken map[string]bool
}

// NewForms returns the forms of a function's values.
func NewForms() *Forms { return &Forms{map[int]string{}, map[string]bool{}} }

// mostTerms is how many terms a form may have.
const mostTerms = 16

// Of returns the form of an int or an int64, or nil if it has none: it is computed from what is read where it is used, or by another operation.
// A bound value that is no sum of products is a name of its own.
func (a *Forms) Of(v *ir.Value) Form {
	if v.Type == nil || v.Type.Kind != ir.Int && v.Type.Kind != ir.I64 {
		return nil
	}
	switch {
	case v.Op == ir.Const:
		return Form{"": v.Const.(int64)}.clean()
	case v.Op == ir.Convert && v.Args[0].Type.Integer():
		if f := a.Of(v.Args[0]); f != nil { // int and int64 have the same values
			return f
		}
		if n := a.symbol(v.Args[0]); n != "" {
			return Form{n: 1}
		}
		return nil
	case v.Op == ir.Neg:
		return a.Of(v.Args[0]).scaled(-1)
	case v.Op == ir.Add || v.Op == ir.Sub:
		x, y := a.Of(v.Args[0]), a.Of(v.Args[1])
		if v.Op == ir.Sub {
			y = y.scaled(-1)
		}
		return x.plus(y)
	case v.Op == ir.Mul:
		return a.Of(v.Args[0]).times(a.Of(v.Args[1]))
	}
	if n := a.symbol(v); n != "" {
		return Form{n: 1}
	}
	return nil
}

// symbol returns the name of a value that forms are made of. It is empty for others.
func (a *Forms) symbol(v *ir.Value) string {
	switch {
	case v.Op == ir.Argument:
		return v.Param.Name
	case v.Op == ir.Len || v.Op == ir.Rows || v.Op == ir.Cols:
		return fmt.Sprintf("%s(%s)", v.Op, v.Param.Name)
	case v.Op >= ir.InGrid && v.Op <= ir.AllBlocks:
		return fmt.Sprintf("%s%d", v.Op, v.Which[0])
	case v.Op == ir.Convert && v.Args[0].Type.Integer() && v.Bound:
		return a.symbol(v.Args[0])
	case v.Op == ir.Extract && len(v.Args) == 1 && v.Args[0].Op == ir.Argument:
		return v.Args[0].Param.Name + "." + v.Args[0].Type.Fields[v.Which[0]].Name
	case !v.Bound:
		return ""
	}
	if n, ok := a.names[v.ID]; ok {
		return n
	}
	n := v.Name
	for i := 2; n == "" || a.taken[n]; i++ {
		n = fmt.Sprintf("%s#%d", v.Name, i)
	}
	a.names[v.ID], a.taken[n] = n, true
	return n
}

// clean removes terms that are 0.
func (f Form) clean() Form {
	for n, k := range f {
		if k == 0 {
			delete(f, n)
		}
	}
	return f
}

func (f Form) scaled(by int64) Form { return f.times(Form{"": by}) }

func (f Form) plus(g Form) Form {
	if f == nil || g == nil {
		return nil
	}
	sum := Form{}
	for _, part := range []Form{f, g} {
		for n, k := range part {
			if s := sum[n] + k; (s > k) == (sum[n] > 0) {
				sum[n] = s
			} else {
				return nil // it is too large
			}
		}
	}
	return sum.clean().bounded()
}

func (f Form) times(g Form) Form {
	if f == nil || g == nil {
		return nil
	}
	product := Form{}
	for n, k := range f {
		for m, l := range g {
			if high, low := bits.Mul64(uint64(max(k, -k)), uint64(max(l, -l))); high != 0 || low>>62 != 0 {
				return nil
			}
			if product = product.plus(Form{joined(n, m): k * l}); product == nil {
				return nil
			}
		}
	}
	return product.clean()
}

func (f Form) bounded() Form {
	if len(f) > mostTerms {
		return nil
	}
	return f
}

// joined returns the name of a product.
func joined(n, m string) string {
	var all []string
	for _, s := range append(strings.Split(n, "*"), strings.Split(m, "*")...) {
		if s != "" {
			all = append(all, s)
		}
	}
	slices.Sort(all)
	return strings.Join(all, "*")
}
