package cprint

import (
	"go/token"

	"github.com/go-halyard/halyard/internal/translate/ir"
)

// round is the values of a block's threads, while the text of a round that combines them is printed.
type round struct {
	memory     *ir.Local
	own, other *ir.Value // the indexes of the thread's own value and of the one that it takes
}

// rounds prints the loop in which threads combine their values for an operation of a block or group (see package load), with the barrier before it. It reports
// whether a list begins with them, and whether the values are numbers or bools. The macro GO_ROUNDS makes the loop from the text of a round, in which
// variables stand for the two values and for their distance. So a device that has shuffles can do without memory in the rounds of a group, and on a processor
// one thread can do the rounds of all.
func (f *function) rounds(list []*ir.Stmt) bool {
	if len(list) < 3 || list[0].Do != ir.Barrier || list[1].Do != ir.Store || list[2].Do != ir.Loop || list[2].Value == nil {
		return false
	}
	body, d := list[2].Then.List, list[1].Place.Local
	if len(body) != 2 || body[0].Do != ir.If || body[1].Do != ir.Barrier {
		return false
	}
	then := body[0].Then.List
	put := then[len(then)-1]
	if put.Do != ir.Store || put.Place.Local == nil || !put.Place.Local.Block || numbers[put.Place.Type.Kind].c == "" {
		return false
	}
	f.combines = &round{memory: put.Place.Local, own: put.Place.Path[0].Index}
	kind, macro, threads := "SUM", "GO_ROUNDS", list[2].Value.Args[1].Args[0]
	if body[0].Value.Op != ir.Both {
		kind = "SCAN"
	}
	if threads.Op == ir.Min { // of the rounds of a group
		macro, threads = "GO_GROUP", threads.Args[0]
	}
	var rank, n, end, other, both string
	before := f.captured(func() {
		rank, n, end = f.value(f.combines.own).c, f.value(threads).c, f.value(list[2].Value.Args[1]).c
		f.names[d] = "v_d"
		switch let := then[0]; {
		case len(then) == 1:
			both = f.value(put.Value).c
		case len(then) == 2 && let.Do == ir.Let && let.Value.Op == ir.Call && put.Value == let.Value:
			both, _ = f.call(let.Value)
		}
		if f.combines.other != nil {
			other = f.low(f.combines.other).c
		}
	})
	delete(f.names, d)
	values := f.names[f.combines.memory]
	f.combines = nil
	if len(before) > 0 || both == "" || other == "" || !token.IsIdentifier(rank) {
		return false
	}
	f.line("%s(%s, %s, %s, %s, %s, %s.a, %s, %s)", macro, kind, rank, n, end, f.typ(put.Place.Type), values, other, both)
	return true
}

// exchanged returns the variable that has a value of the round that is being printed, or false if the value is another one.
func (f *values) exchanged(v *ir.Value) (text, bool) {
	r := f.combines
	if r == nil || v.Place.Local != r.memory {
		return text{}, false
	}
	if i := v.Place.Path[0].Index; f.value(i).c != f.value(r.own).c {
		r.other = i
		return atom("v_other"), true
	}
	return atom("v_own"), true
}
