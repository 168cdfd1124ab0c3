// Package edges finds out what is known of the threads of a row before they run, so that a loop over the threads needs fewer checks. The threads of a row
// differ in their place along dimension 0 alone.
//
//   - sum.go writes an integer as a step times the thread's place, plus numbers that are the same for all threads of the row. It has the Go text of these.
//   - limit.go finds the guards at the front of a kernel, which end threads beyond a place.
//   - edges.go finds comparisons that have the same result for all threads away from certain places, and the parts of slices that the threads index.
//
// All results are about values of the representation. If a value is an expression in the Go text, its field Syntax is that expression.
package edges

import (
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// Comparison is a comparison of ints with == or !=. The two ints are equal for one thread of the row at most, or for all or none.
type Comparison struct {
	Of     *ir.Value
	Edge   string // the Go text of the place of the thread for which the ints are equal, or ""
	Never  string // if Edge is "": the Go text of the condition under which the ints of all threads are equal
	Result bool   // the result of the comparison for all other threads
}

// Comparisons returns the comparisons in a region whose results are known for the threads away from their edges.
func (r *Row) Comparisons(in *ir.Region) (all []Comparison) {
	in.Visit(nil, func(v *ir.Value) {
		if v.Op != ir.Eq && v.Op != ir.Ne {
			return
		}
		c := Comparison{Of: v, Result: v.Op == ir.Ne}
		step, x, ok := r.Of(v.Args[0])
		by, y, ok2 := r.Of(v.Args[1])
		rest := x.Plus(y, -1)
		if _, constant := rest.Constant(); !ok || !ok2 || step == by && constant {
			return
		}
		switch {
		case step-by == 1:
			c.Edge = r.Text(y.Plus(x, -1))
		case step-by == -1:
			c.Edge = r.Text(rest)
		case step == 0 && by == 0:
			c.Never = r.Text(x) + " == " + r.Text(y)
		case step == by:
			c.Never = r.Text(rest) + " == 0"
		default:
			return
		}
		all = append(all, c)
	})
	return all
}

// View is the part of a slice that the threads of a row index: the index is the thread's place plus Offset. For a matrix it is the part of a row.
type View struct {
	Of     *ir.Param
	Row    string // the Go text of the row of a matrix, "" for a slice
	Offset string // a Go text
}

// View returns the view to which a place belongs, if the place is an element of a slice or matrix at such an index.
func (r *Row) View(p *ir.Place) (View, bool) {
	if p == nil || p.Param == nil || p.Param.Type.Kind != ir.Slice && p.Param.Type.Kind != ir.Matrix {
		return View{}, false
	}
	v, index := View{Of: p.Param}, p.Path[0].Index
	if p.Path[0].Col != nil {
		step, row, ok := r.Of(index)
		if !ok || step != 0 {
			return View{}, false
		}
		v.Row, index = r.Text(row), p.Path[0].Col
	}
	step, offset, ok := r.Of(index)
	if !ok || step != 1 {
		return View{}, false
	}
	v.Offset = r.Text(offset)
	return v, true
}
