package facts

import "github.com/go-halyard/halyard/internal/translate/ir"

// Use says what a function, with those that it calls, does with the memory of a parameter.
type Use struct{ Read, Written bool }

// Effects are what a function does beyond computing its results, with the functions that it calls.
type Effects struct {
	Params   []Use // by the parameter's index
	Barriers bool
	Shared   bool // it has shared memory
	Dims     int  // how many dimensions of the grid it uses
}

// EffectsOf returns the effects of a function. of has those of the functions that it calls.
func EffectsOf(f *ir.Function, of map[*ir.Function]*Effects) *Effects {
	e := &Effects{Params: make([]Use, len(f.Params))}
	use := func(p *ir.Param, u Use) {
		if p != nil {
			e.Params[p.Index] = Use{e.Params[p.Index].Read || u.Read, e.Params[p.Index].Written || u.Written}
		}
	}
	for _, l := range f.Locals {
		e.Shared = e.Shared || l.Space == ir.Shared
	}
	f.Body.Visit(func(s *ir.Stmt) {
		switch s.Do {
		case ir.Store:
			use(s.Place.Param, Use{Written: true})
		case ir.Barrier:
			e.Barriers = true
		}
	}, func(v *ir.Value) {
		switch {
		case v.Op == ir.Load:
			use(v.Place.Param, Use{Read: true})
		case v.Op == ir.Atomic:
			use(v.Place.Param, Use{true, true})
		case v.Op >= ir.InGrid && v.Op <= ir.AllBlocks:
			e.Dims = max(e.Dims, v.Which[0]+1)
		case v.Op == ir.Call:
			c := of[v.Call]
			e.Barriers, e.Dims = e.Barriers || c.Barriers, max(e.Dims, c.Dims)
			for i, a := range v.Args {
				switch {
				case a.Op == ir.Address:
					use(a.Place.Param, c.Params[i])
				case a.Op == ir.Argument:
					use(a.Param, c.Params[i])
				}
			}
		}
	})
	return e
}

// Owner says who may change a place between two uses by a thread.
type Owner uint8

// The owners of places. Each includes those before it.
const (
	Nobody Owner = iota // it is only read
	Alone               // the thread that uses it
	Blocks              // the threads of its block
	Anyone              // any thread of the grid
)

var owners = [...]string{"nobody", "alone", "block", "anyone"}

func (o Owner) String() string { return owners[o] }

// Owners are the owners of what a function uses, and whether two uses of it may be the same element.
type Owners struct {
	Params []Owner // of the memory of parameters, by index; that of a number is Alone
	Locals []Owner // by index

	Mixed map[any]bool // a [ir.Param] or [ir.Local]: an element of it has two uses whose indexes are computed in different ways
}

// OwnersOf returns the owners of what a function uses. effects has those of the function and of all that it calls.
func OwnersOf(f *ir.Function, effects map[*ir.Function]*Effects) *Owners {
	o := &Owners{Params: make([]Owner, len(f.Params)), Locals: make([]Owner, len(f.Locals)), Mixed: map[any]bool{}}
	for i, p := range f.Params {
		use := effects[f].Params[i]
		switch {
		case p.Type.Memory() && !use.Written && f.Kernel: // another argument may be the same memory, if a function has it
			o.Params[i] = Nobody
		case !p.Type.Memory() || p.Type.Space == ir.Private:
			o.Params[i] = Alone
		case p.Type.Space == ir.Shared:
			o.Params[i] = Blocks
		default:
			o.Params[i] = Anyone
		}
	}
	for i, l := range f.Locals {
		if o.Locals[i] = Alone; l.Space == ir.Shared {
			o.Locals[i] = Blocks
		}
	}
	first, dynamic, several := map[any]*ir.Place{}, map[any]bool{}, map[any]bool{}
	use := func(p *ir.Place) {
		root := rootOf(p)
		for _, i := range p.Indexes() {
			dynamic[root] = dynamic[root] || i.Op != ir.Const
		}
		if first[root] == nil {
			first[root] = p
		}
		several[root] = several[root] || !SamePlace(first[root], p)
	}
	f.Body.Visit(func(s *ir.Stmt) {
		if s.Do == ir.Store {
			use(s.Place)
		}
	}, func(v *ir.Value) {
		if v.Place != nil {
			use(v.Place)
		}
	})
	for root := range first {
		o.Mixed[root] = dynamic[root] && several[root]
	}
	return o
}

func rootOf(p *ir.Place) any {
	if p.Local != nil {
		return p.Local
	}
	return p.Param
}

// SamePlace reports whether two places are the same whenever both are used, because they are made of the same values. Places that may be the same by
// chance are not.
func SamePlace(p, q *ir.Place) bool {
	if p.Local != q.Local || p.Param != q.Param || len(p.Path) != len(q.Path) {
		return false
	}
	for i, s := range p.Path {
		t := q.Path[i]
		if s.Field != t.Field || !sameValue(s.Index, t.Index) || !sameValue(s.Col, t.Col) {
			return false
		}
	}
	return true
}

// sameValue reports whether two values are the same one, or are computed alike from what does not change within a round of the loops around both.
func sameValue(v, w *ir.Value) bool {
	switch {
	case v == w || v == nil || w == nil:
		return v == w
	case v.Bound || w.Bound || v.Op != w.Op || v.Op > ir.Max || !v.Type.Same(w.Type) || v.Const != w.Const || v.Param != w.Param || len(v.Args) != len(w.Args):
		return false
	case len(v.Which) > 0 && v.Which[0] != w.Which[0]:
		return false
	}
	for i := range v.Args {
		if !sameValue(v.Args[i], w.Args[i]) {
			return false
		}
	}
	return true
}
