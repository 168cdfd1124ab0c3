// Package passes changes the representation of kernels for devices, so that their compilers make faster code of it. The results stay the
// same, bit for bit.
//
// [Devices] copies a program and applies all passes to the copy. Packages cprint and spirv print the copy. The loops for the host are cut
// from the text of the author, so they keep the program as package build made it.
//
//   - hoist.go: loads whose result is the same in all rounds of a loop are moved in front of the loop.
//
// # Where things go
//
// A new pass: a function like hoist in a file of its own, and its name in the list All. A pass changes statements only as far as it must,
// because the rules of package quirks were found for the statements that authors write. It never moves a value into a loop. It stays only
// if a measurement shows that it gains. TestInterpreterEqualsGo of package translate compares results after the passes with those of Go
// on random kernels.
package passes

import (
	"slices"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// effects are the effects of the functions of a program.
type effects = map[*ir.Function]*facts.Effects

// Pass changes all functions of a program.
type Pass struct {
	Name string
	pass func(*ir.Function, effects)
}

// All are the passes, in the order in which they run.
var All = []Pass{{"hoist", hoist}}

// Run changes a program that [Copy] has made.
func (p Pass) Run(program *ir.Program) {
	of := effects{}
	for _, f := range program.Functions {
		of[f] = facts.EffectsOf(f, of)
		p.pass(f, of)
	}
}

// Devices returns the copy of a program that is printed for devices. The functions are in the same order as in p, and have the same
// parameters.
func Devices(p *ir.Program) *ir.Program {
	made := Copy(p)
	for _, pass := range All {
		pass.Run(made)
	}
	return made
}

// Copy returns a copy of a program. Both programs have the same parameters and locals.
func Copy(p *ir.Program) *ir.Program {
	made := &ir.Program{Position: p.Position}
	calls := map[*ir.Function]*ir.Function{}
	for _, f := range p.Functions {
		g := *f
		g.Vars, g.Locals = nil, slices.Clone(f.Locals)
		g.Body = newCopier(ir.NewBuilder(&g), calls).region(f.Body)
		calls[f] = &g
		made.Functions = append(made.Functions, &g)
	}
	return made
}

// rewrite replaces each statement of a region by the statements that f returns. It begins with the innermost regions.
func rewrite(r *ir.Region, f func(*ir.Stmt) []*ir.Stmt) {
	var list []*ir.Stmt
	for _, s := range r.List {
		for _, in := range s.Regions() {
			rewrite(in, f)
		}
		list = append(list, f(s)...)
	}
	r.List = list
}

// copier copies statements into a function.
type copier struct {
	*ir.Builder
	values map[*ir.Value]*ir.Value // what replaces bound values
	stmts  map[*ir.Stmt]*ir.Stmt   // the copies of loops and switches
	calls  map[*ir.Function]*ir.Function
}

func newCopier(b *ir.Builder, calls map[*ir.Function]*ir.Function) *copier {
	return &copier{b, map[*ir.Value]*ir.Value{}, map[*ir.Stmt]*ir.Stmt{}, calls}
}

func (c *copier) region(r *ir.Region) *ir.Region {
	if r == nil {
		return nil
	}
	made := &ir.Region{}
	for _, s := range r.List {
		made.List = append(made.List, c.stmt(s))
	}
	return made
}

func (c *copier) stmt(s *ir.Stmt) *ir.Stmt {
	made := *s
	c.stmts[s] = &made
	made.Place, made.Values = c.place(s.Place), c.list(s.Values)
	if n := s.Count; n != nil {
		count := *n
		count.From, count.End = c.value(n.From), c.value(n.End)
		count.Index = c.bound(n.Index)
		made.Count = &count
	}
	made.Head = c.region(s.Head)
	if s.Do == ir.Let {
		made.Value = c.bound(s.Value)
	} else {
		made.Value = c.value(s.Value)
	}
	made.Then, made.Else, made.Step = c.region(s.Then), c.region(s.Else), c.region(s.Step)
	made.Clauses = nil
	for _, l := range s.Clauses {
		clause := &ir.Clause{Body: c.region(l.Body), Falls: l.Falls}
		for _, t := range l.Tests {
			head := c.region(t.Head)
			clause.Tests = append(clause.Tests, ir.Test{Head: head, Cond: c.value(t.Cond)})
		}
		made.Clauses = append(made.Clauses, clause)
	}
	if to := c.stmts[s.Target]; to != nil {
		made.Target = to
	}
	return &made
}

// value returns the copy of a value where it is used.
func (c *copier) value(v *ir.Value) *ir.Value {
	switch {
	case v == nil:
		return nil
	case !v.Bound:
		return c.computed(v)
	case c.values[v] != nil:
		return c.Again(c.values[v])
	}
	return v
}

// bound returns the copy of a value where it is bound.
func (c *copier) bound(v *ir.Value) *ir.Value {
	made := c.computed(v)
	c.values[v] = made
	return made
}

func (c *copier) computed(v *ir.Value) *ir.Value {
	made := *v
	made.ID = c.Value(v.Op, v.Type).ID
	made.Place, made.Args = c.place(v.Place), c.list(v.Args)
	if g := c.calls[v.Call]; g != nil {
		made.Call = g
	}
	return &made
}

func (c *copier) list(list []*ir.Value) (made []*ir.Value) {
	for _, v := range list {
		made = append(made, c.value(v))
	}
	return made
}

func (c *copier) place(p *ir.Place) *ir.Place {
	if p == nil {
		return nil
	}
	made := *p
	made.Path = nil
	for _, s := range p.Path {
		s.Index, s.Col = c.value(s.Index), c.value(s.Col)
		made.Path = append(made.Path, s)
	}
	return &made
}
