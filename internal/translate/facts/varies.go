package facts

import (
	"slices"

	"github.com/go-halyard/halyard/internal/translate/ir"
)

// Varies says between which threads a value may differ.
type Varies uint8

// What values vary by. Each constant includes those before it.
const (
	Nothing Varies = iota // all threads of the grid that compute the value have the same one
	Block                 // threads of different blocks may differ
	Row                   // threads of a block may differ, but not threads whose places differ in dimension 0 alone
	Thread                // any two threads may differ
)

var variations = [...]string{"nothing", "block", "row", "thread"}

func (v Varies) String() string { return variations[v] }

// Variance says what a function's values vary by. It depends on what the function's arguments vary by.
type Variance struct {
	Values   []Varies            // by a value's ID; Nothing for values that no thread computes
	Locals   []Varies            // by a local's index: what the contents of the local vary by
	Barriers map[*ir.Stmt]Varies // what coming to a barrier varies by
	Results  Varies              // what the function's results vary by

	f       *ir.Function
	effects map[*ir.Function]*Effects
	args    []Varies // nil for a kernel
	changed bool

	// These say what leaving varies by, as some threads may have left and others not. The map left is about a break of the loop or switch, skipped is about a
	// continue in the round before a statement, ended is about a return inside the loop or switch, and returned is about any return.
	left, skipped, ended map[*ir.Stmt]Varies
	returned             Varies
}

// VarianceOf returns what varies in a function. The slice args says what the function's arguments vary by; for a kernel it is nil.
func VarianceOf(f *ir.Function, effects map[*ir.Function]*Effects, args []Varies) *Variance {
	v := &Variance{
		Values: make([]Varies, f.NumValues()), Locals: make([]Varies, len(f.Locals)), Barriers: map[*ir.Stmt]Varies{},
		effects: effects, args: args, f: f, left: map[*ir.Stmt]Varies{}, skipped: map[*ir.Stmt]Varies{}, ended: map[*ir.Stmt]Varies{},
	}
	for v.changed = true; v.changed; { // a store further below in a loop may also make a local vary, so this repeats until nothing changes
		v.changed, v.returned = false, Nothing
		v.region(f.Body, Nothing, nil)
	}
	return v
}

// raise raises *at to by, and notes the change.
func (v *Variance) raise(at *Varies, by Varies) {
	if by > *at {
		*at, v.changed = by, true
	}
}

// region goes through statements. The parameter by says between which threads it differs whether a thread runs the statements. The parameter around has the
// enclosing loops and switches.
func (v *Variance) region(r *ir.Region, by Varies, around []*ir.Stmt) {
	if r == nil {
		return
	}
	for _, s := range r.List {
		run := by
		for _, a := range around {
			run = max(run, v.left[a], v.skipped[a]) // some threads have left early
		}
		v.statement(s, run, around)
	}
}

func (v *Variance) statement(s *ir.Stmt, by Varies, around []*ir.Stmt) {
	switch s.Do {
	case ir.Let:
		v.compute(s.Value)
	case ir.Store:
		at := v.indexes(s.Place)
		stored := v.value(s.Value)
		if l := s.Place.Local; l != nil && l.Space == ir.Private {
			v.raise(&v.Locals[l.Index], max(at, stored, by))
		}
	case ir.If:
		by = max(by, v.value(s.Value))
		v.region(s.Then, by, around)
		v.region(s.Else, by, around)
	case ir.Loop:
		v.loop(s, by, append(around, s))
	case ir.Switch:
		for _, c := range s.Clauses {
			for _, t := range c.Tests {
				v.region(t.Head, by, around)
				by = max(by, v.value(t.Cond))
			}
		}
		for _, c := range s.Clauses {
			v.region(c.Body, by, append(around, s))
		}
	case ir.Break:
		v.leave(s.Target, by)
	case ir.Continue:
		v.skipped[s.Target] = max(v.skipped[s.Target], by)
		for _, a := range around[slices.Index(around, s.Target)+1:] { // inside of it
			v.leave(a, by)
		}
	case ir.Barrier:
		by = max(by, v.returned)
		for _, a := range around {
			by = max(by, v.ended[a])
		}
		v.Barriers[s] = by
	case ir.Return:
		v.returned = max(v.returned, by)
		for _, a := range around {
			at := v.ended[a]
			v.raise(&at, by)
			v.ended[a] = at
		}
		for _, x := range s.Values {
			v.raise(&v.Results, max(by, v.value(x)))
		}
	}
}

// leave notes that threads leave a loop or switch, and by what that varies.
func (v *Variance) leave(s *ir.Stmt, by Varies) {
	at := v.left[s]
	v.raise(&at, by)
	v.left[s] = at
}

// loop goes through a loop. If threads take different numbers of rounds, a variable that the loop changes may differ between the threads after the loop.
func (v *Variance) loop(s *ir.Stmt, by Varies, around []*ir.Stmt) {
	by = max(by, v.left[s])
	if c := s.Count; c != nil {
		at := max(v.value(c.From), v.value(c.End))
		v.raise(&v.Values[c.Index.ID], at)
		by = max(by, at)
	}
	v.region(s.Head, by, around)
	if s.Value != nil {
		cond := v.value(s.Value)
		v.leave(s, cond)
		by = max(by, cond)
	}
	v.skipped[s] = Nothing
	v.region(s.Then, by, around)
	v.skipped[s] = Nothing
	v.region(s.Step, by, around)
}

// indexes returns what the indexes of a place vary by.
func (v *Variance) indexes(p *ir.Place) (all Varies) {
	for _, i := range p.Indexes() {
		all = max(all, v.value(i))
	}
	return all
}

// value returns what a value varies by.
func (v *Variance) value(x *ir.Value) Varies {
	if x.Bound {
		return v.Values[x.ID]
	}
	return v.compute(x)
}

// compute finds out what a value varies by where it is computed.
func (v *Variance) compute(x *ir.Value) Varies {
	at := Nothing
	for _, a := range x.Operands() {
		at = max(at, v.value(a))
	}
	switch x.Op {
	case ir.Argument:
		if v.args != nil {
			at = v.args[x.Param.Index]
		}
	case ir.InGrid, ir.InBlock:
		at = Thread
		if x.Which[0] > 0 {
			at = Row
		}
	case ir.BlockOf:
		at = Block
	case ir.Load:
		at = max(at, v.memory(x.Place))
	case ir.Atomic:
		at = Thread
	case ir.Call:
		at = v.call(x)
	}
	v.raise(&v.Values[x.ID], at)
	return v.Values[x.ID]
}

// memory returns what the contents of a place vary by, apart from the indexes of the place. Memory that the threads write may change between the reads of two
// threads.
func (v *Variance) memory(p *ir.Place) Varies {
	switch {
	case p.Local != nil && p.Local.Space == ir.Private:
		return v.Locals[p.Local.Index]
	case p.Local != nil && p.Local.Block:
		return Block
	case p.Space() == ir.Constant:
		return Nothing
	case p.Local == nil && v.args != nil:
		return v.args[p.Param.Index]
	case p.Local == nil && p.Space() == ir.Global && !v.effects[v.f].Params[p.Param.Index].Written:
		return Nothing
	}
	return Thread
}

// call returns what the results of a call vary by. Locals that the called function may change vary by Thread afterwards.
func (v *Variance) call(x *ir.Value) Varies {
	args := make([]Varies, len(x.Args))
	for i, a := range x.Args {
		switch {
		case a.Op == ir.Address:
			args[i] = Thread
			if l := a.Place.Local; l != nil && l.Space == ir.Private && v.effects[x.Call].Params[i].Written {
				v.raise(&v.Locals[l.Index], Thread)
			}
		case a.Type.Memory():
			args[i] = v.memory(a.Param.At())
		default:
			args[i] = v.value(a)
		}
	}
	return VarianceOf(x.Call, v.effects, args).Results
}
