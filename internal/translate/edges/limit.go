package edges

import (
	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// Limit is an upper bound: threads whose place along the dimension is not below it do nothing.
type Limit struct {
	Dim int
	At  facts.Sum // see Row.Text
}

// Limits returns the limits that follow from guards at the front of a kernel, and for each comparison in the guards the result that it has for all
// threads below the limits. A row can be ended at the limits, since the statements up to the guards have no effect and do not panic.
func (r *Row) Limits(body *ir.Region) ([]Limit, map[*ir.Value]bool) {
	g := &guards{Row: r, results: map[*ir.Value]bool{}}
	g.front(body)
	clear(r.locals)
	return g.limits, g.results
}

// guards collects limits.
type guards struct {
	*Row
	limits  []Limit
	results map[*ir.Value]bool
}

// front looks at the first statements of a region. Nothing follows the region.
func (g *guards) front(in *ir.Region) {
	for i, s := range in.List {
		switch s.Do {
		case ir.Let:
			if !facts.Pure(s.Value) {
				return
			}
		case ir.Store:
			l := facts.Stored(s)
			if l == nil || l.Space != ir.Private || g.locals[l] != nil || !facts.Pure(s.Value) {
				return
			}
			g.locals[l] = s.Value
		case ir.If:
			if s.Else != nil || !facts.Pure(s.Value) {
				return
			}
			if len(s.Then.List) == 1 && s.Then.List[0].Do == ir.Return {
				g.suppose(s.Value, false)
				continue
			}
			if i == len(in.List)-1 {
				g.suppose(s.Value, true)
				g.front(s.Then)
			}
			return
		default:
			return
		}
	}
}

// suppose notes the limits of threads that go on only if a condition holds, or only if it does not hold.
func (g *guards) suppose(c *ir.Value, holds bool) {
	switch {
	case c.Op == ir.Not:
		g.suppose(c.Args[0], !holds)
	case c.Op == ir.Both && holds || c.Op == ir.Either && !holds:
		g.suppose(c.Args[0], holds)
		g.suppose(c.Args[1], holds)
	case c.Op.Compares() && c.Args[0].Type.Kind == ir.Int:
		op, x, y := c.Op, c.Args[0], c.Args[1]
		if !holds {
			op = facts.Negated(op)
		}
		if op == ir.Gt {
			x, y = y, x
		} else if op != ir.Lt {
			return
		}
		g.bound(c, x, y, holds)
	}
}

// bound notes that threads go on only if x < y, if x is a place of the thread.
func (g *guards) bound(c, x, y *ir.Value, holds bool) {
	x = g.resolved(x)
	step, at, ok := g.Of(y)
	if x.Op != g.Place || !ok || step != 0 {
		return
	}
	g.results[c] = holds
	for _, l := range g.limits {
		if l.Dim == x.Which[0] && l.At.Equal(at) {
			return
		}
	}
	g.limits = append(g.limits, Limit{x.Which[0], at})
}

// resolved returns the value that is in a local at the front, for a value that reads the local.
func (g *guards) resolved(v *ir.Value) *ir.Value {
	for is := g.locals[facts.Loaded(v)]; is != nil; is = g.locals[facts.Loaded(v)] {
		v = is
	}
	return v
}
