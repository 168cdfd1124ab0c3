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
