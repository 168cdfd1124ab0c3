package facts

import "github.com/go-halyard/halyard/internal/translate/ir"

// Use says what a function, with the functions that it calls, does with the memory of a parameter.
type Use struct{ Read, Written bool }

// Effects are what a function, with the functions that it calls, does beyond computing its results.
type Effects struct {
	Params   []Use // by the parameter's index
	Barriers bool
	Shared   bool // it has shared memory
	Dims     int  // how many dimensions of the grid it uses
}

// EffectsOf returns the effects of a function. The effects of the functions that it calls are in the map named of.
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
		case v.Op >= ir.InGrid && v.Op <= ir.AllBlocks && v.Of == "":
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
