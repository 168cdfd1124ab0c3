package facts

import "github.com/go-halyard/halyard/internal/translate/ir"

// Homes says where a printer declares the locals of a function: before the first statement that uses the local, in the innermost region that has all uses.
// If this statement is a store to the whole local, the store is the declaration.
type Homes struct {
	Begins map[*ir.Stmt]*ir.Local   // the local that a store declares
	Before map[*ir.Stmt][]*ir.Local // the locals that are declared before a statement
	Used   map[*ir.Value]bool       // the bound values that something uses
}

// spot is a statement in a region.
type spot struct {
	in *ir.Region
	at *ir.Stmt
}

// homeFinder finds the homes of a function's locals.
type homeFinder struct {
	Homes
	ways map[*ir.Local][]spot // the statements around all uses of a local, from the body inwards; the local can be declared at the last of these
}

// HomesOf finds where the locals of a function are declared.
func HomesOf(f *ir.Function) Homes {
	h := homeFinder{Homes{map[*ir.Stmt]*ir.Local{}, map[*ir.Stmt][]*ir.Local{}, map[*ir.Value]bool{}}, map[*ir.Local][]spot{}}
	h.region(f.Body, nil)
	for _, l := range f.Locals {
		way, ok := h.ways[l]
		if !ok {
			continue
		}
		s := way[len(way)-1].at
		if Stored(s) == l && !Reads(s.Value, l) {
			h.Begins[s] = l
		} else {
			h.Before[s] = append(h.Before[s], l)
		}
	}
	return h.Homes
}

func (h *homeFinder) region(r *ir.Region, around []spot) {
	for _, s := range r.List {
		way := append(around[:len(around):len(around)], spot{r, s})
		h.place(s.Place, way)
		for _, v := range s.Operands() {
			h.value(v, s.Do == ir.Let, way)
		}
		for _, in := range s.Regions() {
			h.region(in, way)
		}
		if s.Do == ir.Loop && s.Value != nil {
			h.condition(s.Value, s.Head, way)
		}
		for _, c := range s.Clauses {
			for _, t := range c.Tests {
				h.condition(t.Cond, t.Head, way)
			}
		}
	}
}

func (h *homeFinder) condition(v *ir.Value, head *ir.Region, way []spot) {
	if head != nil {
		way = append(way[:len(way):len(way)], spot{head, nil})
	}
	h.value(v, false, way)
}

func (h *homeFinder) value(v *ir.Value, here bool, way []spot) {
	if v.Bound && !here {
		h.Used[v] = true
		return
	}
	h.place(v.Place, way)
	for _, a := range v.Operands() {
		h.value(a, false, way)
	}
}

func (h *homeFinder) place(p *ir.Place, way []spot) {
	if p == nil || p.Local == nil || p.Local.Space != ir.Private {
		return
	}
	was, ok := h.ways[p.Local]
	if !ok {
		h.ways[p.Local] = append([]spot(nil), way...)
		return
	}
	n := 0
	for n < len(was) && n < len(way) && was[n].in == way[n].in {
		n++
	}
	h.ways[p.Local] = was[:n]
}
