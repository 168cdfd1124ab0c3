package facts

import "github.com/go-halyard/halyard/internal/translate/ir"

// Exit says how a statement is left from inside.
type Exit struct {
	Breaks bool // a break leaves it, and its thread goes on behind it
	Beyond bool // a return, or a break or continue of a statement around it: its thread does not come to its end
}

// ExitOf returns how a statement is left.
func ExitOf(s *ir.Stmt) (e Exit) {
	inside := map[*ir.Stmt]bool{s: true}
	for _, r := range s.Regions() {
		r.Visit(func(x *ir.Stmt) {
			inside[x] = true
			switch x.Do {
			case ir.Return:
				e.Beyond = true
			case ir.Break, ir.Continue:
				e.Beyond = e.Beyond || !inside[x.Target]
				e.Breaks = e.Breaks || x.Do == ir.Break && x.Target == s
			}
		}, nil)
	}
	return e
}
