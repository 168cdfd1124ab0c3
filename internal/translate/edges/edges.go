// Package edges finds out what is known of the threads of a row before they run, so that a loop over the threads needs fewer checks. The threads of a row
// differ in their place along dimension 0 alone.
//
//   - sum.go writes an integer as a step times the thread's place, plus numbers that are the same for all threads of the row. It has the Go text of these.
//   - limit.go finds the guards at the front of a kernel, which end threads beyond a place.
//   - edges.go finds comparisons that have the same result for all threads away from certain places, and the parts of slices that the threads index.
//
// All results are about values of the representation. A value that Go's text has as an expression has it as its Syntax.
package edges

import (
	"go/token"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// Comparison is a comparison of ints with == or !=. The two ints are equal for one thread of the row at most, or for all or none.
type Comparison struct {
	Of     *ir.Value
	Edge   string // the Go text of the place of the thread for which the ints are equal, or ""
	Never  string // if Edge is "": the Go text of the condition under which the ints of all threads are equal
	Result bool   // of the comparison, for the other threads
}

// Comparisons returns the comparisons in a region whose results are known for the threads away from their edges.
func (r *Row) Comparisons(in *ir.Region) (all []Comparison) {
	in.Visit(nil, func(v *ir.Value) {
		if v.Op != ir.Eq && v.Op != ir.Ne {
			return
		}
		c := Comparison{Of: v, Result: v.Op == ir.Ne}
		x, y := r.Sum(v.Args[0]), r.Sum(v.Args[1])
		step, rest, ok := r.split(x.Plus(y, -1))
		if _, constant := rest.Constant(); !ok || step == 0 && constant {
			return
		}
		switch step {
		case 1:
			c.Edge = r.Text(facts.Fixed(0).Plus(rest, -1))
		case -1:
			c.Edge = r.Text(rest)
		case 0:
			if !r.Uniform(x) {
				x, y = rest, nil
			}
			c.Never = r.Text(x) + " == " + r.Text(y)
		default:
			return
		}
		all = append(all, c)
	})
	return all
}

// View is the part of a slice that the threads of a row index: the thread's place plus Offset is the index. For a matrix it is the part of a row.
type View struct {
	Of     *ir.Param
	Row    string // the Go text of the row of a matrix, "" for a slice
	Offset string // a Go text
}

// Views returns the parts of the kernel's slices that the threads index in a region. The map has the number of the part, by the position of the index in the
// source: of a matrix, that of the row.
func (r *Row) Views(in *ir.Region) (views []View, at map[token.Pos]int) {
	at = map[token.Pos]int{}
	note := func(p *ir.Place) {
		if p == nil || p.Param == nil || p.Param.Type.Kind != ir.Slice && p.Param.Type.Kind != ir.Matrix {
			return
		}
		v, index := View{Of: p.Param}, p.Path[0].Index
		if p.Path[0].Col != nil {
			step, row, ok := r.Of(index)
			if !ok || step != 0 {
				return
			}
			v.Row, index = r.Text(row), p.Path[0].Col
		}
		step, offset, ok := r.Of(index)
		if !ok || step != 1 {
			return
		}
		v.Offset = r.Text(offset)
		for i, known := range views {
			if known == v {
				at[p.Path[0].Pos] = i
				return
			}
		}
		at[p.Path[0].Pos] = len(views)
		views = append(views, v)
	}
	in.Visit(func(s *ir.Stmt) { note(s.Place) }, func(v *ir.Value) { note(v.Place) })
	return views, at
}
