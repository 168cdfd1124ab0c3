package translate

import (
	"go/ast"
	"go/token"
	"slices"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// This file finds how deeply conditions are nested, because some drivers treat those that are nested too deeply as true. Compilers put the statements
// after an early return or a continue into one more condition. After a break they do not.

// fewNested is a number of nested conditions that every driver supports.
const fewNested = 48

// fewBytes is a size of the variables of a thread, in bytes, that every driver supports.
const fewBytes = 1024

// nesting finds the deepest condition of a kernel.
type nesting struct {
	p      *Package
	around *ir.Stmt // the innermost loop or switch around the statement
	most   int
	at     token.Pos
	now    token.Pos // of the statement in this package
	bytes  int64     // of variables that are arrays or structures; those of a function are added for each call
}

// nesting returns how deeply the conditions of a kernel are nested, and where, and the bytes of a thread's variables. A number that every driver supports is
// returned as 0.
func (p *Package) nesting(f *function) (most int, at token.Pos, bytes int64) {
	n := &nesting{p: p}
	n.function(f.made, 1) // 1, because the guard may be printed as a condition around the whole body
	if n.bytes > fewBytes {
		bytes = n.bytes
	}
	if n.most < fewNested {
		return 0, token.NoPos, bytes
	}
	return n.most, n.at, bytes
}

// function looks at a kernel, or at a function that is called.
func (n *nesting) function(f *ir.Function, depth int) {
	variable := func(name string, t *ir.Type) {
		if name != "" && (t.Kind == ir.Array || t.Kind == ir.Struct) {
			n.bytes += t.Size()
		}
	}
	for _, l := range f.Locals {
		if l.Space == ir.Private {
			variable(l.Name, l.Type)
		}
	}
	f.Body.Visit(func(s *ir.Stmt) {
		if s.Do == ir.Let && s.Value.Type != nil {
			variable(s.Value.Name, s.Value.Type)
		}
	}, nil)
	n.region(f.Body, depth)
}

// own reports whether a position is in a file of the package.
func (n *nesting) own(at token.Pos) bool {
	return slices.ContainsFunc(n.p.Files, func(f *ast.File) bool { return f.FileStart <= at && at < f.FileEnd })
}

// reach notes a condition. Its place is that of the call, if it is in another package.
func (n *nesting) reach(depth int, at token.Pos) {
	if depth > n.most {
		if !n.own(at) {
			at = n.now
		}
		n.most, n.at = depth, at
	}
}

// region looks at statements. It returns how many more conditions are around the statements that follow the region: those for returns in it, and those for
// continues.
func (n *nesting) region(r *ir.Region, depth int) (returns, continues int) {
	if r == nil {
		return 0, 0
	}
	for _, s := range r.List {
		a, b := n.statement(s, depth+returns+continues)
		returns, continues = returns+a, continues+b
	}
	return returns, continues
}

func (n *nesting) statement(s *ir.Stmt, depth int) (returns, continues int) {
	if n.own(s.Pos) {
		n.now = s.Pos
	}
	for _, v := range s.Operands() {
		if !v.Bound || s.Do == ir.Let {
			n.value(v, depth)
		}
	}
	block := func(r *ir.Region) {
		a, b := n.region(r, depth+1)
		returns, continues = max(returns, min(a, 1)), max(continues, min(b, 1))
	}
	was := n.around
	defer func() { n.around = was }()
	if s.Label != "" {
		depth++
	}
	switch s.Do {
	case ir.Return:
		return 1, 0
	case ir.Continue:
		return 0, 1
	case ir.Break:
		if s.Target != n.around || s.Target.Do != ir.Loop {
			return 0, 1
		}
	case ir.If:
		clauses := facts.Ladder(s, func(head []*ir.Stmt, _ *ir.Stmt) bool { return len(head) == 0 })
		if clauses != nil {
			n.clauses(clauses, depth, block)
			break
		}
		n.reach(depth+1, s.Pos)
		block(s.Then)
		block(s.Else)
	case ir.Loop:
		n.around = s
		n.region(s.Head, depth+1)
		if s.Value != nil && !s.Value.Bound {
			n.value(s.Value, depth+1)
		}
		n.region(s.Step, depth+1)
		block(s.Then)
		return returns, 0
	case ir.Switch:
		n.around = s
		n.clauses(s.Clauses, depth, block)
	}
	return returns, continues
}

// clauses looks at a chain of else-ifs. Each condition is nested in the one before it; after [facts.MostLadder] of them the printers begin a new chain.
func (n *nesting) clauses(all []*ir.Clause, depth int, block func(*ir.Region)) {
	values := 0
	for _, c := range all {
		for _, t := range c.Tests {
			if values++; values > facts.MostLadder {
				values = 1
			}
			n.region(t.Head, depth+values)
			n.reach(depth+values, t.Cond.Pos)
			if !t.Cond.Bound {
				n.value(t.Cond, depth+values)
			}
		}
		block(c.Body)
	}
}

// value looks for calls, and for operators whose right side is evaluated under a condition.
func (n *nesting) value(v *ir.Value, depth int) {
	switch v.Op {
	case ir.Both, ir.Either:
		n.reach(depth+1, v.Pos)
	case ir.Call:
		n.function(v.Call, depth)
	}
	for i, a := range v.Operands() {
		switch {
		case a.Bound:
		case i == 1 && (v.Op == ir.Both || v.Op == ir.Either):
			n.value(a, depth+1)
		default:
			n.value(a, depth)
		}
	}
}
