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

// Stepped returns the local that a loop changes in its step alone, and what it becomes there, which is computed from the local and another operand.
// They are nil for other loops.
func Stepped(loop *ir.Stmt) (l *ir.Local, becomes *ir.Value) {
	if loop.Step == nil || len(loop.Step.List) != 1 {
		return nil, nil
	}
	l, becomes = Stored(loop.Step.List[0]), loop.Step.List[0].Value
	if l == nil || becomes.Bound || len(becomes.Args) != 2 || Loaded(becomes.Args[0]) != l || changes(loop.Head, l) || changes(loop.Then, l) {
		return nil, nil
	}
	return l, becomes
}

// changes reports whether statements store to a local, or pass its address.
func changes(r *ir.Region, l *ir.Local) (found bool) {
	r.Visit(func(s *ir.Stmt) { found = found || s.Do == ir.Store && s.Place.Local == l }, func(v *ir.Value) {
		found = found || v.Op == ir.Address && v.Place.Local == l
	})
	return found
}
