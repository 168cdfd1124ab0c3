package passes

import (
	"slices"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// hoist moves loads of elements in front of a loop, if every round loads the same. Compilers do not move an array or a structure, and
// Mesa's moves nothing.
//
// A load moves only if nothing in the loop can change the memory: no store to memory of that kind, since two parameters may be the same
// memory, no atomic operation, no barrier, and no call that does any of this. The load must also be the first in the first round that can
// panic, or come after such loads, and there must be a first round. So the load panics if and only if it did before.
func hoist(f *ir.Function, of effects) {
	rewrite(f.Body, func(s *ir.Stmt) []*ir.Stmt {
		if s.Do != ir.Loop {
			return []*ir.Stmt{s}
		}
		h := &hoister{changes: changesOf(s, of)}
		if s.Count == nil { // the condition is tested before the first round
			if h.region(s.Head) && s.Value != nil {
				h.evaluate(s, s.Value)
			}
		} else if n, known := facts.ConstantRounds(s); known && n > 0 {
			h.region(s.Then)
		}
		return append(h.moved, s)
	})
}

// changes are what a loop changes.
type changes struct {
	values   map[*ir.Value]bool // the values that it computes
	locals   map[*ir.Local]bool // the locals that it stores to
	memories [ir.Constant + 1]bool
}

func changesOf(loop *ir.Stmt, of effects) *changes {
	c := &changes{values: map[*ir.Value]bool{}, locals: map[*ir.Local]bool{}}
	all := func() { c.memories[ir.Global], c.memories[ir.Shared] = true, true } // other threads may change it
	store := func(p *ir.Place) {
		if c.memories[p.Space()] = true; p.Local != nil {
			c.locals[p.Local] = true
		}
	}
	if loop.Count != nil {
		c.values[loop.Count.Index] = true
	}
	r := &ir.Region{List: []*ir.Stmt{loop}}
	r.Visit(func(s *ir.Stmt) {
		switch {
		case s.Do == ir.Store:
			store(s.Place)
		case s.Do == ir.Barrier:
			all()
		case s.Do == ir.Let:
			c.values[s.Value] = true
		case s.Count != nil:
			c.values[s.Count.Index] = true
		}
	}, func(v *ir.Value) {
		switch v.Op {
		case ir.Atomic:
			all()
		case ir.Call:
			if of[v.Call].Barriers {
				all()
			}
			for i, a := range v.Args {
				switch {
				case !of[v.Call].Params[i].Written:
				case a.Op == ir.Address:
					store(a.Place)
				default:
					c.memories[a.Param.Type.Space] = true
				}
			}
		}
	})
	return c
}

// same reports whether a value is the same in all rounds.
func (c *changes) same(v *ir.Value) bool {
	if v.Bound {
		return !c.values[v]
	}
	return c.computes(v)
}

// computes reports whether the computation of a value has the same result in all rounds.
func (c *changes) computes(v *ir.Value) bool {
	switch v.Op {
	case ir.Call, ir.Atomic, ir.Address, ir.Counter:
		return false
	case ir.Load:
		if p := v.Place; p.Local != nil && p.Space() == ir.Private {
			if c.locals[p.Local] {
				return false
			}
		} else if c.memories[p.Space()] {
			return false
		}
	}
	return !slices.ContainsFunc(v.Operands(), func(a *ir.Value) bool { return !c.same(a) })
}

// hoister moves loads out of a loop.
type hoister struct {
	*changes
	moved []*ir.Stmt
}

// region moves loads out of the statements that a region begins with. It reports whether the whole region runs without a panic.
func (h *hoister) region(r *ir.Region) bool {
	if r == nil {
		return true
	}
	for i := 0; i < len(r.List); i++ {
		s := r.List[i]
		if s.Do == ir.Let && h.moves(s.Value) {
			h.moved = append(h.moved, s)
			delete(h.values, s.Value)
			r.List = slices.Delete(r.List, i, i+1)
			i--
			continue
		}
		for _, v := range s.Operands() {
			if v.Bound && s.Do != ir.Let {
				continue
			}
			if !h.evaluate(s, v) {
				return false
			}
		}
		if s.Do != ir.Let && (s.Do != ir.Store || len(s.Place.Indexes()) > 0) {
			return false
		}
	}
	return true
}

// moves reports whether a value is a load that can move, and whose operands cannot panic.
func (h *hoister) moves(v *ir.Value) bool {
	panics := func(a *ir.Value) bool { return !a.Bound && !facts.Pure(a) }
	return v.Op == ir.Load && v.Place.Space() != ir.Private && h.computes(v) && !slices.ContainsFunc(v.Operands(), panics)
}

// evaluate moves loads out of a value that a statement computes. It reports whether computing the value cannot panic, apart from what has
// moved.
func (h *hoister) evaluate(s *ir.Stmt, v *ir.Value) bool {
	if v.Bound && (s.Do != ir.Let || v != s.Value) {
		return true
	}
	if h.moves(v) && !v.Bound {
		v.Bound = true
		h.moved = append(h.moved, &ir.Stmt{Do: ir.Let, Pos: s.Pos, Syntax: s.Syntax, Value: v})
		return true
	}
	operands := v.Operands()
	if v.Op == ir.Both || v.Op == ir.Either {
		return h.evaluate(s, operands[0]) && facts.Pure(operands[1])
	}
	for _, a := range operands {
		if !h.evaluate(s, a) {
			return false
		}
	}
	return facts.Pure(v)
}
