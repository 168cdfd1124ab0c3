package facts

import (
	"go/token"

	"github.com/go-halyard/halyard/internal/translate/ir"
)

// Exit says how a statement is left from inside.
type Exit struct {
	Breaks bool // a break leaves the statement, and its thread goes on behind it
	Beyond bool // a return, or a break or continue of an outer statement, leaves the statement: its thread does not go on behind it
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

// Stepped returns the local that counts the rounds of a loop, and the value that the step stores in it. The step is l = l op y, and nothing else in the loop
// changes l. For a loop without such a step, both results are nil.
func Stepped(loop *ir.Stmt) (l *ir.Local, becomes *ir.Value) {
	if loop.Step == nil || len(loop.Step.List) != 1 {
		return nil, nil
	}
	l, becomes = Stored(loop.Step.List[0]), loop.Step.List[0].Value
	if l == nil || becomes.Bound || len(becomes.Args) != 2 || Loaded(becomes.Args[0]) != l || changed(loop.Head, l).IsValid() || changed(loop.Then, l).IsValid() {
		return nil, nil
	}
	return l, becomes
}

// changed returns where statements store to a local, or pass its address, for the first time. If they do not, the position is not valid.
func changed(r *ir.Region, l *ir.Local) (at token.Pos) {
	r.Visit(func(s *ir.Stmt) {
		if !at.IsValid() && s.Do == ir.Store && s.Place.Local == l {
			at = s.Pos
		}
	}, func(v *ir.Value) {
		if !at.IsValid() && (v.Op == ir.Address || v.Op == ir.Atomic) && v.Place.Local == l {
			at = v.Pos
		}
	})
	return at
}

// MostLadder limits how many conditions are nested, each in the else of the one before. Longer chains are printed without nesting, because drivers limit the
// depth of nesting: Mesa's driver for processors allows 80 levels.
const MostLadder = 16

// Ladder returns a long chain of conditions, each in the else of the one before, as the clauses of a switch. For a short chain it returns nil. If joins(head,
// next) is true, the statements in front of a condition belong to the condition's clause.
func Ladder(s *ir.Stmt, joins func(head []*ir.Stmt, next *ir.Stmt) bool) (clauses []*ir.Clause) {
	var head *ir.Region
	for {
		clauses = append(clauses, &ir.Clause{Tests: []ir.Test{{Head: head, Cond: s.Value}}, Body: s.Then})
		if s.Else == nil || len(s.Else.List) == 0 {
			break
		}
		last := len(s.Else.List) - 1
		next := s.Else.List[last]
		if next.Do != ir.If || !joins(s.Else.List[:last], next) {
			break
		}
		head, s = &ir.Region{List: s.Else.List[:last]}, next
	}
	if len(clauses) <= MostLadder {
		return nil
	}
	if s.Else != nil {
		clauses = append(clauses, &ir.Clause{Body: s.Else})
	}
	return clauses
}

// Tag returns the one value that all tests of a switch compare with constants, if there is such a value and no constant occurs twice. Otherwise it returns nil.
func Tag(clauses []*ir.Clause) (tag *ir.Value) {
	seen := map[any]bool{}
	for _, c := range clauses {
		for _, t := range c.Tests {
			v := t.Cond
			if t.Head != nil && len(t.Head.List) > 0 || v.Op != ir.Eq || v.Bound || !v.Args[0].Bound || v.Args[1].Op != ir.Const || tag != nil && tag != v.Args[0] || seen[v.Args[1].Const] {
				return nil
			}
			tag, seen[v.Args[1].Const] = v.Args[0], true
		}
	}
	return tag
}
