package cprint

import (
	"fmt"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

func (f *function) list(list []*ir.Stmt) {
	for i := 0; i < len(list); i++ {
		if f.rounds(list[i:]) {
			i += 2
		} else {
			f.statement(list[i])
		}
	}
}

// block prints the statements of a region, indented as the inside of a block.
func (f *function) block(r *ir.Region) {
	if r != nil {
		f.deeper(func() { f.list(r.List) })
	}
}

func (f *function) statement(s *ir.Stmt) {
	for _, l := range f.homes.Before[s] {
		f.line("%s %s = %s;", f.keptAs(l.Type, f.narrow.Local(l)), f.name(l, l.Name), zero(l.Type))
	}
	switch s.Do {
	case ir.Let:
		f.let(s.Value)
	case ir.Store:
		f.store(s)
	case ir.If:
		f.branch(s)
	case ir.Loop:
		f.loop(s)
	case ir.Switch:
		f.choice(s)
	case ir.Break, ir.Continue:
		f.jump(s)
	case ir.Barrier:
		f.line("BARRIER();")
	case ir.Return:
		f.leave(s)
	}
}

// let prints a value that is evaluated here.
func (f *function) let(v *ir.Value) {
	switch {
	case v.Op == ir.Go && v.Type.Kind == ir.Tuple:
		f.pairs[v] = f.twoResults(v)
	case v.Op == ir.Call || v.Op == ir.Atomic:
		text, typ := f.call(v)
		if f.narrow.Value(v) {
			typ = f.numberOf(v).c
		}
		if f.homes.Used[v] {
			text = fmt.Sprintf("%s %s = %s", typ, f.name(v, v.Name), text)
		}
		f.line("%s;", text)
		if f.homes.Used[v] {
			f.settle(v, v.Type, f.names[v])
		}
	case !f.homes.Used[v]:
		f.line("(void)(%s);", f.computed(v).c)
	case v.Op == ir.Composite:
		f.composed(f.name(v, v.Name), v)
	default:
		text := f.computed(v).c
		f.line("%s %s = %s;", f.keptAs(v.Type, f.narrow.Value(v)), f.name(v, v.Name), text)
		f.settle(v, v.Type, f.names[v])
	}
}

// store prints an assignment. The assignment is never to a parameter, since package build copies a parameter that changes into a local. If a kernel changed a
// parameter that is a structure, PoCL 3.1 would keep one structure for all threads.
func (f *function) store(s *ir.Stmt) {
	l := f.homes.Begins[s]
	switch {
	case l != nil && s.Value.Op == ir.Composite && !s.Value.Bound:
		f.composed(f.name(l, l.Name), s.Value)
	case l != nil:
		text := f.value(s.Value).c
		f.line("%s %s = %s;", f.keptAs(l.Type, f.narrow.Local(l)), f.name(l, l.Name), text)
	default:
		to, text := f.place(s.Place, s.Pos).c, f.value(s.Value).c
		if f.Stored[s] {
			to = "GO_ONCE(" + to + ")"
		}
		f.line("%s = %s;", to, text)
	}
	if l := s.Place.Local; l != nil && len(s.Place.Path) == 0 {
		f.settle(l, l.Type, f.names[l])
	}
}

func (f *function) leave(s *ir.Stmt) {
	if f.Looped[s] {
		f.line("GO_LOOPED")
	}
	switch len(s.Values) {
	case 0:
		f.line("return;")
	case 1:
		f.line("return %s;", f.value(s.Values[0]).c)
	default:
		name := f.added()
		f.line("%s %s;", f.results, name)
		for i, v := range s.Values {
			f.line("%s.r%d = %s;", name, i, f.value(v).c)
		}
		f.line("return %s;", name)
	}
}

func (f *function) branch(s *ir.Stmt) {
	if chain := f.ladder(s); chain != nil {
		f.choose(chain)
		return
	}
	f.line("if (%s) {", f.value(s.Value).c)
	f.block(s.Then)
	for s.Else != nil && len(s.Else.List) > 0 {
		next := s.Else.List[0]
		if len(s.Else.List) == 1 && next.Do == ir.If && len(f.homes.Before[next]) == 0 && f.ladder(next) == nil {
			var cond string
			if lines := f.captured(func() { cond = f.value(next.Value).c }); len(lines) == 0 {
				s = next
				f.line("} else if (%s) {", cond)
				f.block(s.Then)
				continue
			}
		}
		f.line("} else {")
		f.block(s.Else)
		break
	}
	f.line("}")
}

// ladder returns the clauses of a long chain of conditions, or nil: see [facts.Ladder].
func (f *function) ladder(s *ir.Stmt) []*ir.Clause {
	return facts.Ladder(s, func(head []*ir.Stmt, next *ir.Stmt) bool { return len(head) == 0 && len(f.homes.Before[next]) == 0 })
}

// choice prints a switch.
func (f *function) choice(s *ir.Stmt) {
	j := f.enter(s)
	f.choose(s.Clauses)
	f.exit(j)
}

// choose prints the clauses of a switch. The code first finds the number of the clause that runs, and then runs that clause.
func (f *function) choose(clauses []*ir.Clause) {
	f.line("{")
	f.depth++
	which, other, tests := f.added(), len(clauses), 0
	for i, c := range clauses {
		if len(c.Tests) == 0 {
			other = i
		}
		tests += len(c.Tests)
	}
	f.line("i32 %s = %d;", which, other)
	flat, guarded, nested := tests > facts.MostLadder, facts.Tag(clauses) == nil, 0
	for i, c := range clauses {
		for _, t := range c.Tests {
			if flat && guarded {
				f.line("if (%s == %d) {", which, other)
				f.depth++
			}
			if t.Head != nil {
				f.list(t.Head.List)
			}
			f.line("if (%s) {", f.value(t.Cond).c)
			f.line("\t%s = %d;", which, i)
			if nested++; flat || nested == tests {
				f.line("}")
			} else {
				f.line("} else {")
				f.depth++
			}
			if flat && guarded {
				f.depth--
				f.line("}")
			}
		}
	}
	if !flat {
		for range tests - 1 {
			f.depth--
			f.line("}")
		}
	}
	for i, c := range clauses {
		f.line("if (%s == %d) {", which, i)
		f.block(c.Body)
		if c.Falls {
			f.line("\t%s = %d;", which, i+1)
		}
		f.line("}")
	}
	f.depth--
	f.line("}")
}

// jump is a loop or a switch around a statement.
type jump struct {
	stmt       *ir.Stmt
	id         int
	left, next bool // whether a goto leaves the statement (left), or continues with its next round (next)
}

// enter is called at the beginning of a loop or a switch, and exit at its end.
func (f *function) enter(s *ir.Stmt) *jump {
	j := &jump{stmt: s, id: f.number()}
	f.jumps = append(f.jumps, j)
	return j
}

func (f *function) exit(j *jump) {
	f.jumps = f.jumps[:len(f.jumps)-1]
	if j.left {
		f.line("v_left_%d:;", j.id)
	}
}

// jump prints a break or continue. A switch is printed as conditions, so a break that leaves it becomes a goto.
func (f *function) jump(s *ir.Stmt) {
	inner := true // no other loop is between the statement and its target
	for i := len(f.jumps) - 1; i >= 0; i-- {
		j := f.jumps[i]
		isLoop := j.stmt.Do == ir.Loop
		switch {
		case j.stmt != s.Target:
			inner = inner && !isLoop
			continue
		case inner && isLoop:
			f.line("%s;", s.Do)
		case s.Do == ir.Break:
			j.left = true
			f.line("goto v_left_%d;", j.id)
		default:
			j.next = true
			f.line("goto v_next_%d;", j.id)
		}
		return
	}
}

// loop prints a loop in the form that it has in Go.
func (f *function) loop(s *ir.Stmt) {
	apart, order := f.Apart[s], ""
	defer f.copy(s)()
	if apart != "" {
		f.line("if (%s) {", apart)
		f.depth++
	}
	if f.Ordered[s] {
		order = "GO_ORDERED "
	}
	if n := f.Unroll[s]; n > 0 {
		order += fmt.Sprintf("GO_UNROLL(%d) ", n)
	}
	if f.eightAtOnce(s) {
		order += "GO_EIGHT "
	}
	j := f.enter(s)
	if s.Count != nil {
		f.line("%s%s {", order, f.count(s.Count, f.Steady[s]))
	} else {
		head, lines := f.while(s)
		f.line("%s%s {", order, head)
		f.text = append(f.text, lines...)
	}
	f.round(j, s.Then)
	f.line("}")
	f.exit(j)
	if apart != "" {
		f.depth--
		f.line("}")
	}
}

// count returns the head of a loop that counts. Its end is computed once.
func (f *function) count(c *ir.Count, steady bool) string {
	n := kept(c.Index.Type, f.narrow.Counter(c))
	from, end := f.value(c.From), f.value(c.End)
	if !c.End.Bound && c.End.Op > ir.AllBlocks {
		name := f.added()
		f.line("%s %s = %s;", n.c, name, end.c)
		end = atom(name)
	}
	i := f.name(c.Index, c.Index.Name)
	if f.narrow.Value(c.Index) && !f.narrow.Counter(c) {
		f.names[c.Index] = "((" + narrowed(c.Index.Type).c + ")" + i + ")"
	}
	level := relational
	if c.Op == ir.Ne {
		level = equality
	}
	var step string
	switch {
	case c.By == 1 && c.Op == ir.Lt:
		step = i + "++"
	case steady:
		step = fmt.Sprintf("%s += %s", i, f.integer(n, c.By).c)
	case c.By == -1 && c.Op == ir.Gt:
		step = i + "--"
	default: // the sum may wrap around
		step = fmt.Sprintf("%s = %s", i, cast(n.c, binary("+", additive, cast(n.unsigned(), atom(i)), f.integer(n, c.By))).c)
	}
	return fmt.Sprintf("for (%s %s = %s; %s; %s)", n.c, i, from.c, binary(c.Op.String(), level, atom(i), end).c, step)
}

// while returns the head of a loop that does not count. If the condition is not an expression in C, or the step is not a single line, both become lines at the
// start of the loop's body. The method while returns these lines.
func (f *function) while(s *ir.Stmt) (head string, lines []string) {
	var cond string
	tests := f.captured(func() {
		if s.Head != nil {
			f.list(s.Head.List)
		}
		if s.Value != nil {
			cond = f.value(s.Value).c
		}
	})
	var step []string
	if s.Step != nil {
		step = f.captured(func() {
			if add := s.Step.List; f.Steady[s] && (!f.narrow.Local(add[0].Place.Local) || f.narrow.Exact(add[0].Value)) {
				l := add[0].Place.Local
				f.line("%s += %s;", f.name(l, l.Name), f.value(add[0].Value.Args[1]).c)
			} else {
				f.list(add)
			}
		})
	}
	if len(tests) == 0 && len(step) <= 1 {
		text := strings.TrimSuffix(strings.TrimSpace(strings.Join(step, "")), ";")
		return fmt.Sprintf("for (; %s; %s)", cond, text), nil
	}
	line := func(format string, args ...any) {
		lines = append(lines, strings.Repeat("\t", f.depth+1)+fmt.Sprintf(format, args...)+"\n")
	}
	if len(step) > 0 {
		first := f.added()
		f.line("u8 %s = 1;", first)
		line("if (!%s) {", first)
		for _, l := range step {
			lines = append(lines, "\t"+l)
		}
		line("}")
		line("%s = 0;", first)
	}
	lines = append(lines, tests...)
	if s.Value != nil {
		line("if (!(%s)) break;", cond)
	}
	return "for (;;)", lines
}

// round prints the body of a loop. If a goto continues with the next round, the body is a block of its own, and the label for the goto is after this block.
func (f *function) round(j *jump, body *ir.Region) {
	lines := f.captured(func() { f.list(body.List) })
	if !j.next {
		f.text = append(f.text, lines...)
		return
	}
	f.line("\t{")
	for _, l := range lines {
		f.text = append(f.text, "\t"+l)
	}
	f.line("\t}")
	f.line("\tv_next_%d:;", j.id)
}
