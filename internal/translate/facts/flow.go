package facts

import "github.com/go-halyard/halyard/internal/translate/ir"

// Exit says how the statements in a loop or a switch leave it, or what follows in it.
type Exit struct {
	Breaks    bool // a break leaves it
	Continues bool // a continue goes on with its next round
	Beyond    bool // a break or continue in it leaves a statement around it
	Returns   bool // a return in it leaves the function
}

// Early reports whether rounds may be left out: all but a continue leave the statement before its end.
func (e Exit) Early() bool { return e.Breaks || e.Beyond || e.Returns }

// ExitsOf returns how each loop and each switch of a function is left.
func ExitsOf(f *ir.Function) map[*ir.Stmt]*Exit {
	all := map[*ir.Stmt]*Exit{}
	exits(f.Body, nil, all)
	return all
}

func exits(r *ir.Region, around []*ir.Stmt, all map[*ir.Stmt]*Exit) {
	if r == nil {
		return
	}
	for _, s := range r.List {
		in := around
		switch s.Do {
		case ir.Loop, ir.Switch:
			all[s] = &Exit{}
			in = append(around[:len(around):len(around)], s)
		case ir.Return:
			for _, a := range around {
				all[a].Returns = true
			}
		case ir.Break, ir.Continue:
			for i := len(around) - 1; i >= 0; i-- {
				if around[i] != s.Target {
					all[around[i]].Beyond = true
					continue
				}
				all[s.Target].Breaks = all[s.Target].Breaks || s.Do == ir.Break
				all[s.Target].Continues = all[s.Target].Continues || s.Do == ir.Continue
				break
			}
		}
		for _, r := range s.Regions() {
			exits(r, in, all)
		}
	}
}

// Leaves reports whether no thread goes on behind a region: each comes to a return, break or continue in it.
func Leaves(r *ir.Region) bool {
	if r == nil {
		return false
	}
	for _, s := range r.List {
		switch s.Do {
		case ir.Return, ir.Break, ir.Continue:
			return true
		case ir.If:
			if Leaves(s.Then) && Leaves(s.Else) {
				return true
			}
		}
	}
	return false
}

// Live are the bound values and the private locals that are used behind a point and were computed or stored before it.
type Live struct {
	Values map[*ir.Value]bool
	Locals map[*ir.Local]bool
}

func newLive() Live { return Live{map[*ir.Value]bool{}, map[*ir.Local]bool{}} }

func (l Live) clone() Live {
	c := newLive()
	c.add(l)
	return c
}

// add adds what another set has, and reports whether l has grown.
func (l Live) add(m Live) bool {
	before := len(l.Values) + len(l.Locals)
	for v := range m.Values {
		l.Values[v] = true
	}
	for x := range m.Locals {
		l.Locals[x] = true
	}
	return len(l.Values)+len(l.Locals) > before
}

// liveness goes through a function backwards.
type liveness struct {
	effects map[*ir.Function]*Effects
	at      map[*ir.Stmt]Live
	ends    map[*ir.Stmt]Live // what lives behind a loop or switch
	rounds  map[*ir.Stmt]Live // what lives before the next round of a loop
}

// OverBarriers returns what lives over each barrier of a function, and over each call of a function that has barriers.
func OverBarriers(f *ir.Function, effects map[*ir.Function]*Effects) map[*ir.Stmt]Live {
	w := &liveness{effects: effects, at: map[*ir.Stmt]Live{}, ends: map[*ir.Stmt]Live{}, rounds: map[*ir.Stmt]Live{}}
	w.region(f.Body, newLive())
	return w.at
}

// region changes what lives behind a region into what lives before it.
func (w *liveness) region(r *ir.Region, live Live) Live {
	if r == nil {
		return live
	}
	for i := len(r.List) - 1; i >= 0; i-- {
		live = w.statement(r.List[i], live)
	}
	return live
}

func (w *liveness) statement(s *ir.Stmt, live Live) Live {
	switch s.Do {
	case ir.Barrier:
		w.at[s] = live.clone()
	case ir.Let:
		delete(live.Values, s.Value)
		if s.Value.Op == ir.Call && w.effects[s.Value.Call].Barriers {
			over := live.clone()
			w.uses(s.Value, over) // locals whose addresses it has
			w.at[s] = over
		}
		w.uses(s.Value, live)
	case ir.Store:
		if l := s.Place.Local; l != nil && l.Space == ir.Private {
			if len(s.Place.Path) == 0 {
				delete(live.Locals, l)
			} else {
				live.Locals[l] = true // the rest of it stays
			}
		}
		w.use(s.Value, live)
		for _, i := range s.Place.Indexes() {
			w.use(i, live)
		}
	case ir.If:
		other := w.region(s.Else, live.clone())
		live = w.region(s.Then, live)
		live.add(other)
		w.use(s.Value, live)
	case ir.Loop:
		return w.loop(s, live)
	case ir.Switch:
		return w.choice(s, live)
	case ir.Break:
		return w.ends[s.Target].clone()
	case ir.Continue:
		return w.rounds[s.Target].clone()
	case ir.Return:
		live = newLive()
		for _, v := range s.Values {
			w.use(v, live)
		}
	}
	return live
}

func (w *liveness) loop(s *ir.Stmt, live Live) Live {
	w.ends[s] = live.clone()
	before := live.clone() // before a round's condition
	for {
		next := w.region(s.Step, before.clone())
		if c := s.Count; c != nil {
			next.Values[c.Index] = true
			w.use(c.End, next)
		}
		w.rounds[s] = next
		round := w.region(s.Then, next.clone())
		if s.Value != nil || s.Count != nil {
			round.add(live)
		}
		if s.Value != nil {
			w.use(s.Value, round)
		}
		if !before.add(w.region(s.Head, round)) {
			break
		}
	}
	if c := s.Count; c != nil {
		delete(before.Values, c.Index)
		w.use(c.From, before)
		w.use(c.End, before)
	}
	return before
}

func (w *liveness) choice(s *ir.Stmt, live Live) Live {
	w.ends[s] = live.clone()
	all, next := live.clone(), live
	for i := len(s.Clauses) - 1; i >= 0; i-- {
		c := s.Clauses[i]
		behind := live.clone()
		if c.Falls {
			behind = next.clone()
		}
		next = w.region(c.Body, behind)
		all.add(next)
	}
	for i := len(s.Clauses) - 1; i >= 0; i-- {
		for j := len(s.Clauses[i].Tests) - 1; j >= 0; j-- {
			t := s.Clauses[i].Tests[j]
			w.use(t.Cond, all)
			all = w.region(t.Head, all)
		}
	}
	return all
}

// use adds what the use of a value needs.
func (w *liveness) use(v *ir.Value, live Live) {
	if v.Bound {
		live.Values[v] = true
		return
	}
	w.uses(v, live)
}

// uses adds what the computation of a value needs.
func (w *liveness) uses(v *ir.Value, live Live) {
	if v.Place != nil && v.Place.Local != nil && v.Place.Local.Space == ir.Private {
		live.Locals[v.Place.Local] = true
	}
	for _, a := range v.Operands() {
		w.use(a, live)
	}
}
