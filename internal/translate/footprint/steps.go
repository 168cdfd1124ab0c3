package footprint

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// This file bounds the work of a thread, so that the host can run a small launch on the goroutine that launches. The bound is a number of steps, plus a
// multiple of each number and each length that a launch passes. It counts every statement as if it ran, and a loop's body as often as it can run. A kernel with
// a loop that has no known bound has no bound.

// How many steps an operation counts. One step is an operation on numbers in Go's text.
const (
	loadSteps   = 4  // an element, which may come from memory
	divideSteps = 8  // a division of whole numbers
	callSteps   = 4  // a call, without the body of the function
	simpleSteps = 8  // a function of math or math/bits that is a few instructions
	mathSteps   = 60 // any other function of math or math/bits
	atomicSteps = 20
	mostShared  = 4096 // the most bytes of a shared variable, which the block sets to zero
)

// counter counts steps.
type counter struct {
	*facts.Bounds
	total facts.Bound
	calls int  // the depth of calls
	none  bool // there is no bound
	round any  // the Go statement of the enclosing loop; variables that the statement itself sets count with the loop
}

// Steps returns the elements of driver.Function.Steps for a kernel, or "" if it has no bound.
func Steps(f *ir.Function) string {
	c := &counter{Bounds: facts.BoundsOf(f)}
	c.function(f)
	if c.none || c.total[""] >= facts.MostSteps {
		return ""
	}
	words := 0
	for _, m := range f.Params {
		words += facts.Wires(m.Type)
	}
	all := []string{fmt.Sprint(c.total[""])}
	for i := range words {
		all = append(all, fmt.Sprint(c.total[strconv.Itoa(i)]))
	}
	for len(all) > 1 && all[len(all)-1] == "0" {
		all = all[:len(all)-1]
	}
	return strings.Join(all, ", ")
}

func (c *counter) add(n int64) { c.total = c.total.Plus(facts.Times(n)) }

// function counts the steps of a function, without the steps that compute its arguments.
func (c *counter) function(f *ir.Function) {
	c.add(callSteps)
	for _, l := range f.Locals {
		if l.Space == ir.Shared {
			c.add(2 + loadSteps)
			c.none = c.none || l.Type.Size() > mostShared
		}
	}
	c.region(f.Body, f)
}

func (c *counter) region(r *ir.Region, in *ir.Function) {
	if r == nil {
		return
	}
	for i, s := range r.List {
		var before *ir.Stmt
		if i > 0 {
			before = r.List[i-1]
		}
		if i+1 < len(r.List) && facts.Begins(s, r.List[i+1]) { // the first part of a for statement does not count
			continue
		}
		c.statement(s, before, in)
	}
}

func (c *counter) statement(s, before *ir.Stmt, in *ir.Function) {
	switch s.Do {
	case ir.Let:
		if s.Value.Name != "" && s.Syntax != c.round {
			c.add(1)
			c.sized(s.Value.Type)
		}
		c.computed(s.Value, s)
	case ir.Store:
		c.store(s, in)
	case ir.If:
		c.add(1)
		c.value(s.Value, s)
		c.region(s.Then, in)
		c.region(s.Else, in)
	case ir.Loop:
		c.loop(s, before, in)
	case ir.Switch:
		for _, clause := range s.Clauses {
			c.add(1)
			for _, t := range clause.Tests {
				c.region(t.Head, in)
				c.value(t.Cond, s)
			}
			c.region(clause.Body, in)
		}
	case ir.Return:
		c.add(1)
		for _, v := range s.Values {
			c.value(v, s)
		}
	case ir.Barrier:
		c.add(loadSteps)
	}
}

// store counts a store. The operation in x op= y or x++ does not count as a step of its own.
func (c *counter) store(s *ir.Stmt, in *ir.Function) {
	if s.Syntax == in.Syntax { // the store copies a parameter that the function changes
		return
	}
	if p := s.Place.Param; p == nil || p.Type.Kind != ir.Matrix {
		c.add(1)
		c.sized(s.Place.Type)
	}
	c.place(s.Place, s)
	v := s.Value
	if !v.Bound && implicit(v, s) && len(v.Args) == 2 && v.Args[0].Op == ir.Load {
		c.divides(v)
		c.value(v.Args[1], s)
		return
	}
	c.value(v, s)
}

// implicit reports whether a value in a statement has no text of its own in Go.
func implicit(v *ir.Value, s *ir.Stmt) bool { return v.Pos == s.Pos }

// loop adds the steps of a loop. There is a bound only if the loop's variable goes up to a bounded end, or takes values that are known.
func (c *counter) loop(s, before *ir.Stmt, in *ir.Function) {
	each := &counter{Bounds: c.Bounds, calls: c.calls, round: s.Syntax}
	each.add(2)
	each.region(s.Head, in)
	if s.Value != nil {
		each.value(s.Value, s)
	}
	if n := s.Count; n != nil && !implicit(n.From, s) {
		each.add(1)
		each.value(n.End, s)
	}
	each.region(s.Then, in)
	rounds, ok := c.Rounds(s, before)
	if !ok || each.none {
		c.none = true
		return
	}
	all := rounds.By(each.total)
	c.total = c.total.Plus(all)
	for at := range all {
		c.none = c.none || strings.Contains(at, " ") // a product of two arguments
	}
}

// value counts the steps of a value that a statement uses.
func (c *counter) value(v *ir.Value, s *ir.Stmt) {
	if !v.Bound {
		c.computed(v, s)
	}
}

// computed counts the steps that compute a value.
func (c *counter) computed(v *ir.Value, s *ir.Stmt) {
	if v.Place != nil {
		c.place(v.Place, s)
	}
	for _, a := range v.Args {
		c.value(a, s)
	}
	switch {
	case (v.Op.Compares() || v.Op == ir.Address || v.Op == ir.Composite) && implicit(v, s): // a case's comparison, a receiver's address, a var's zero
	case v.Op == ir.Const || v.Op == ir.Argument || v.Op == ir.Counter || v.Op == ir.Extract && len(v.Args) == 1 || v.Op == ir.Load:
	case v.Op == ir.Extract:
		c.add(loadSteps)
	case v.Op == ir.Rows || v.Op == ir.Cols || v.Op >= ir.InGrid && v.Op <= ir.AllBlocks:
		c.add(loadSteps)
	case v.Op == ir.Composite:
		c.sized(v.Type)
	case v.Op == ir.Address && v.Place.Local != nil && v.Place.Local.Space == ir.Shared && len(v.Place.Path) == 0: // in Go this is a pointer already
	case v.Op == ir.Atomic:
		c.add(atomicSteps)
		if v.Place.Param == nil || v.Place.Param.Type.Kind != ir.Matrix { // the address is taken
			c.add(1)
		}
	case v.Op == ir.Go:
		c.add(goSteps(v.Of))
	case v.Op == ir.Call:
		c.call(v)
	default:
		c.add(1)
		c.divides(v)
		if v.Op.Compares() {
			c.sized(v.Args[0].Type)
		}
	}
}

func goSteps(name string) int64 {
	if pkg, _, _ := strings.Cut(name, "."); pkg == "bits" || pkg == "math" && facts.Plain(name) {
		return simpleSteps
	}
	return mathSteps
}

// divides adds the steps of a division of whole numbers.
func (c *counter) divides(v *ir.Value) {
	if (v.Op == ir.Div || v.Op == ir.Rem) && v.Type.Integer() {
		c.add(divideSteps)
	}
}

// sized adds the steps for copying or comparing a value of a large type.
func (c *counter) sized(t *ir.Type) {
	if t != nil && (t.Kind == ir.Array || t.Kind == ir.Struct) {
		c.add(t.Size() / 8)
	}
}

// place counts the steps to reach the memory of a place.
func (c *counter) place(p *ir.Place, s *ir.Stmt) {
	if p.Param != nil && p.Param.Type.Kind == ir.Pointer && len(p.Path) == 0 {
		c.add(1)
	}
	for _, part := range p.Path {
		if part.Index != nil {
			c.add(loadSteps)
		}
	}
	for _, i := range p.Indexes() {
		c.value(i, s)
	}
}

// call counts the steps of a called function. Loops in that function have bounds only if constants bound them.
func (c *counter) call(v *ir.Value) {
	if c.calls > 16 {
		c.none = true
		return
	}
	in := &counter{Bounds: &facts.Bounds{}, calls: c.calls + 1}
	in.function(v.Call)
	c.total = c.total.Plus(in.total)
	c.none = c.none || in.none
}
