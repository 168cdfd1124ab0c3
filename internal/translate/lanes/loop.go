package lanes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// loops writes a loop.
func (w *writer) loops(s *ir.Stmt) {
	if arrays := unrolls(s); slices.ContainsFunc(arrays, func(v *ir.Value) bool { return w.arrays[v] != nil }) {
		w.unrolled(s, arrays)
		return
	}
	stores := false
	s.Then.Visit(func(t *ir.Stmt) { stores = stores || t.Do == ir.Store && t.Place.Local == nil }, nil)
	if w.stored = w.stored || stores; s.Count == nil {
		defer w.bounded(s)()
		w.loop(s, func() {}, w.while)
		return
	}
	c := s.Count
	from, end := w.value(c.From), w.value(c.End)
	if from.how == alike && end.how == alike {
		w.loop(s, func() { end = w.once(end) }, func(s *ir.Stmt, scope *leaving) { w.counts(s, scope, from, end) })
		return
	}
	w.walks(s, from, end)
}

// once returns a value that does not change while the rounds of a loop run.
func (w *writer) once(v value) value {
	if v.fixed {
		return v
	}
	return w.name("n", v)
}

// loop writes a loop around a body. begin writes what is before the loop, and head the text in front of the brace and the lines at the beginning of a round.
func (w *writer) loop(s *ir.Stmt, begin func(), head func(*ir.Stmt, *leaving)) {
	active := w.active
	scope := &leaving{outer: w.scope, loop: s, key: key{w.path, s, ""}}
	defer w.hoistArrays(s)()
	defer func(times int) { w.times = times }(w.times)
	by := inRound(s)
	w.times = min(w.times*rounds(s), 1<<20) / by
	leave, depth := w.differs[scope.key], len(w.depth)
	if active != "" && !leave { // if no lane runs the loop, it might not end
		w.write("if %s {", w.any(active))
	} else {
		w.write("{")
	}
	brace := len(w.lines)
	if leave {
		w.depth = append(w.depth, "loop")
	}
	begin()
	w.leavable(scope)
	bare := len(w.lines) == brace && (active == "" || leave) // nothing is declared outside the loop
	outer := w.scope
	w.scope = scope
	head(s, scope)
	w.place(s)
	round := w.active
	if awake := scope.key.part("awake"); w.differs[awake] {
		scope.awake = w.temp("awake", w.lanes())
		w.frozen[scope.awake] = false
	}
	var first value
	if by > 1 {
		first = w.bound[s.Count.Index]
	}
	w.block(s.Then)
	for n := range by - 1 {
		w.bound[s.Count.Index] = value{text: fmt.Sprintf("(%s + %d)", first.text, n+1), kind: first.kind}
		w.block(s.Then)
	}
	w.place(s)
	w.active = round
	w.lines = append(w.lines, scope.after...)
	w.write("}")
	if bare {
		w.lines = slices.Delete(w.lines, brace-1, brace)
	} else {
		w.write("}")
	}
	w.scope, w.active, w.depth = outer, active, w.depth[:depth]
}

// mostInRound is the largest number of values in a round of the written loop, if inRound puts several rounds into one.
const mostInRound = 100

// inRound returns how many rounds of a loop become one round of the written loop. With a short body the loop's own instructions take a large part
// of the time. With more than four rounds Go 1.27 keeps so many scalars at once that some are in memory, and loads them by instructions that are
// slow beside vectors.
func inRound(s *ir.Stmt) int {
	n, ok := facts.ConstantRounds(s)
	if c := s.Count; !ok || c == nil || c.By != 1 || c.Op != ir.Lt || n == 0 || n%4 != 0 || isLong(s.Then) || 4*weight(s.Then) > mostInRound {
		return 1
	}
	leaves := false
	s.Then.Visit(func(t *ir.Stmt) { leaves = leaves || t.Do == ir.Break || t.Do == ir.Continue || t.Do == ir.Return }, nil)
	return either(leaves, 1, 4)
}

// rounds returns how often a loop runs. A number that is not known counts as 8.
func rounds(s *ir.Stmt) int {
	if n, ok := facts.ConstantRounds(s); ok {
		return int(min(n, 1<<10))
	}
	return 8
}

// leaveEmpty ends a loop that all lanes have left.
func (w *writer) leaveEmpty(mask string) {
	w.write("if !%s {", w.any(mask))
	w.write("break")
	w.write("}")
}

// counts writes the head of a loop that counts between two numbers which all threads have.
func (w *writer) counts(s *ir.Stmt, scope *leaving, from, end value) {
	c := s.Count
	scope.post = true
	k := w.fresh(either(c.Index.Name == "" || c.Index.Name == "_", "k", c.Index.Name))
	head, by := fmt.Sprintf("for %s := range %s {", k, end.text), c.By*int64(inRound(s))
	if !from.isZero() || by != 1 || c.Op != ir.Lt || end.fixed && end.kind != ir.Int {
		head = fmt.Sprintf("for %s := %s; %[1]s %[3]s %[4]s; %[1]s %[5]s= %[6]d {", k, from.text, c.Op, end.text, either(c.By < 0, "-", "+"), max(by, -by))
	}
	w.lines = append(w.lines, line{text: head, pos: w.pos, name: k, head: true})
	w.lines = append(w.lines, line{text: "_ = " + k, pos: w.pos, name: k, keep: true})
	w.frozen[k] = true
	w.bound[c.Index] = value{text: k, kind: c.Index.Type.Kind}
	if _, ok := from.natural(); ok && (c.By == 1 || c.By > 0 && bits(end.kind) == 64) && c.Op == ir.Lt { // it does not wrap around
		if n, ok := end.natural(); ok {
			w.below[c.Index] = fmt.Sprint(n)
		} else if c.End.Op == ir.Len {
			w.below[c.Index] = end.text
		}
	}
	if scope.mask != "" {
		w.leaveEmpty(scope.mask)
	}
}

// walks writes a loop that counts between numbers of which one differs between threads.
func (w *writer) walks(s *ir.Stmt, from, end value) {
	c := s.Count
	k := c.Index.Type.Kind
	defer w.bounded(s)()
	at := from
	begin := func() {
		end = w.once(end)
		at.text = w.fresh(either(c.Index.Name == "" || c.Index.Name == "_", "k", c.Index.Name))
		at.exact, at.fixed, at.still = nil, false, false
		w.put(at.text, ":=", from.text)
	}
	w.loop(s, begin, func(s *ir.Stmt, scope *leaving) {
		w.bound[c.Index] = at
		by := max(c.By, -c.By)
		next := w.operate(c.Index, either(c.By < 0, ir.Sub, ir.Add), at, number(k, either[any](isSigned(k), by, uint64(by))), k)
		cond := w.compare(&ir.Value{Op: c.Op, Type: ir.Basic(ir.Bool), Args: []*ir.Value{c.Index, c.End}, Pos: c.Index.Pos}, at, end)
		w.round(scope, []line{{text: at.text + " = " + next.text, pos: w.pos, name: at.text}}, nil, cond)
	})
}

// while writes the head of a loop that does not count.
func (w *writer) while(s *ir.Stmt, scope *leaving) {
	post := w.captured(func() { w.block(s.Step) })
	c := number(ir.Bool, true)
	w.place(s)
	lines := w.captured(func() {
		w.block(s.Head)
		if w.place(s); s.Value != nil {
			c = w.value(s.Value)
		}
	})
	w.round(scope, post, lines, c)
}

// round writes the head of a loop with a condition, which may need lines before it, and with lines after each round.
func (w *writer) round(scope *leaving, post, lines []line, c value) {
	header := ""
	if scope.post = len(post) <= 1; scope.post && len(post) == 1 {
		header = post[0].text
	} else {
		scope.after = post
	}
	if c.how == differ {
		w.learn(scope.key)
	}
	cond := ""
	if c.how == alike && len(lines) == 0 && c.text != "true" {
		cond = c.text
	}
	if scope.mask != "" && c.how == alike && len(lines) == 0 {
		cond = strings.TrimPrefix(cond+" && "+w.any(scope.mask), " && ")
	}
	w.write("for ; %s; %s {", cond, header)
	w.lines = append(w.lines, lines...)
	switch {
	case c.how == differ && scope.mask != "":
		w.put(scope.mask, "=", fmt.Sprintf("%s.And(%s)", scope.mask, c.text))
		w.leaveEmpty(scope.mask)
	case c.how == alike && len(lines) > 0:
		cond := "!" + c.text
		if scope.mask != "" {
			cond += " || !" + w.any(scope.mask)
		}
		w.write("if %s {", cond)
		w.write("break")
		w.write("}")
	}
}

// bounded notes that the variable of a loop such as for p := i; p < len(x); p += n stays below that length, and is not negative, if the loop has
// that form. The caller calls the returned function after the loop.
func (w *writer) bounded(s *ir.Stmt) func() {
	var of any
	var cond, first *ir.Value
	by, ok := index{}, false
	if c := s.Count; c != nil && c.By > 0 {
		of, first, ok = c.Index, c.From, true
		cond = &ir.Value{Op: c.Op, Args: []*ir.Value{c.Index, c.End}}
	} else if l, next := facts.Stepped(s); l != nil && s.Value != nil && next.Op == ir.Add {
		of, first = l, w.begun(l)
		cond = s.Value
		if h := s.Head; h != nil && len(h.List) == 2 && facts.Stored(h.List[0]) != nil && h.List[1].Do == ir.If && facts.Loaded(h.List[1].Value) == facts.Stored(h.List[0]) {
			cond = h.List[0].Value // a call that follows && is evaluated only where this is true
		}
		cond = terms(cond, ir.Both)[0] // and so are the conditions that follow the first &&
		by, ok = w.known(next.Args[1])
		ok = ok && first != nil && by.step == 0
	}
	if !ok || w.Part != nil || w.island != nil || cond.Op != ir.Lt || counted(cond.Args[0]) != of || cond.Args[1].Op != ir.Len || cond.Args[1].Param.Type.Elem.Kind != ir.Array {
		return func() {}
	}
	a, ok := w.known(first)
	if !ok || a.step != 1 {
		return func() {}
	}
	w.leaveIf(fmt.Sprintf("uint(%s+%s) > 1<<62", w.from, parenthesized(a.text)))
	if by.text != "" {
		w.leaveIf(fmt.Sprintf("uint(%s) > 1<<62", by.text))
	}
	w.below[of] = "len(" + w.param(cond.Args[1].Param).Name + ")"
	return func() { delete(w.below, of) }
}

// begun returns the value that a local has before a loop, if only the step of the loop changes the local later. Otherwise
// it returns nil.
func (w *writer) begun(l *ir.Local) (first *ir.Value) {
	stores := 0
	w.body().Visit(func(s *ir.Stmt) {
		if s.Do == ir.Store && s.Place.Local == l {
			stores++
			if w.homes.Begins[s] == l {
				first = s.Value
			}
		}
	}, func(v *ir.Value) {
		if v.Op == ir.Address && v.Place.Local == l {
			stores = 3
		}
	})
	return either(stores == 2, first, nil)
}

// body returns the statements of the kernel, or of the function that is written.
func (w *writer) body() *ir.Region {
	if w.callee != nil {
		return w.callee.Body
	}
	return w.Function.Body
}

// hoistArrays loads in front of a loop the arrays that are the same in all its rounds. The caller calls the returned function
// after the loop.
func (w *writer) hoistArrays(s *ir.Stmt) func() {
	if w.island != nil {
		return func() {}
	}
	before, inside, changing := len(w.hoistedArrays), map[*ir.Value]bool{}, map[*ir.Local]bool{}
	(&ir.Region{List: []*ir.Stmt{s}}).Visit(func(t *ir.Stmt) {
		switch {
		case t.Do == ir.Let:
			inside[t.Value] = true
		case t.Count != nil:
			inside[t.Count.Index] = true
		case t.Do == ir.Store && t.Place.Local != nil:
			changing[t.Place.Local] = true
		}
	}, nil)
	var same func(v *ir.Value) bool
	same = func(v *ir.Value) bool {
		if v.Bound {
			return !inside[v]
		}
		l := facts.Loaded(v)
		return (l == nil || !changing[l]) && !slices.ContainsFunc(v.Operands(), func(a *ir.Value) bool { return !same(a) })
	}
	s.Then.Visit(func(loop *ir.Stmt) {
		for _, v := range unrolls(loop) {
			n := w.inArrays(v)
			if !inside[v] || n == nil || slices.ContainsFunc(n.index, func(x *ir.Value) bool { return !same(x) || !w.sure(x) }) || w.scatters(loop) {
				continue
			}
			c := &columns{array: n, at: w.find(n), changing: changing}
			w.fill(c, v)
			w.hoistedArrays = append(w.hoistedArrays, c)
		}
	}, nil)
	return func() { w.hoistedArrays = w.hoistedArrays[:before] }
}

// unrolls returns the arrays whose elements a loop reads one after the other.
func unrolls(s *ir.Stmt) (arrays []*ir.Value) {
	if s.Count == nil {
		return nil
	}
	s.Then.Visit(nil, func(v *ir.Value) {
		if v.Op == ir.Extract && len(v.Args) == 2 && v.Args[1] == s.Count.Index && v.Args[0].Op == ir.Load && !slices.Contains(arrays, v.Args[0]) {
			arrays = append(arrays, v.Args[0])
		}
	})
	return arrays
}

// unrolled writes a loop over an array that is an element of a slice, a round after the other, with a vector for each element.
func (w *writer) unrolled(s *ir.Stmt, arrays []*ir.Value) {
	n := arrays[0].Type.Len
	rounds, ok := facts.ConstantRounds(s)
	if !ok || rounds != n || n > mostUnrolled || hasLoop(s.Then) {
		refuse(s.Pos, onlySmallArrays, mostUnrolled)
	}
	s.Then.Visit(func(t *ir.Stmt) {
		if t.Do == ir.Break || t.Do == ir.Continue || t.Do == ir.Return {
			refuse(t.Pos, "this leaves a loop over an array, which does not become vector code")
		}
	}, nil)
	for _, v := range arrays {
		if a := w.arrays[v]; a != nil {
			w.fill(a, v)
		}
	}
	outer := w.unrolling
	w.unrolling = true
	for k := range n {
		w.bound[s.Count.Index] = number(s.Count.Index.Type.Kind, k)
		w.block(s.Then)
	}
	w.unrolling = outer
}

// isSmall reports whether a lane of 32 bits can hold a local of type int: all its values are constants or loop counters that fit in 32 bits.
func (w *writer) isSmall(l *ir.Local, around []*ir.Local) bool {
	return !w.whole64[key{w.path, l, ""}] && w.Part == nil && w.staysIn(l, -1<<31, 1<<31, true, around)
}

// staysIn reports whether all values of a local of type int are constants or loop counters from lo to hi-1. If it is assigned another local, that
// one must be small (isSmall) if small is set, and must stay from lo to hi-1 too if small is not set.
func (w *writer) staysIn(l *ir.Local, lo, hi int64, small bool, around []*ir.Local) bool {
	if slices.Contains(around, l) {
		return true
	}
	if l.Type.Kind != ir.Int {
		return false
	}
	around = append(around, l)
	stays := true
	w.body().Visit(func(s *ir.Stmt) {
		if s.Do != ir.Store || s.Place.Local != l {
			return
		}
		switch of := facts.Loaded(s.Value); {
		case of == nil:
			stays = stays && valueIn(w.body(), s.Value, lo, hi)
		case small:
			stays = stays && w.isSmall(of, around)
		default:
			stays = stays && w.staysIn(of, lo, hi, false, around)
		}
	}, func(v *ir.Value) { stays = stays && (v.Op != ir.Address || v.Place.Local != l) })
	return stays
}

// valueIn reports whether a value is a constant from lo to hi-1, or counts the rounds of a loop between such numbers.
func valueIn(body *ir.Region, v *ir.Value, lo, hi int64) bool {
	if n, ok := facts.Constant(v); ok {
		return n >= lo && n < hi
	}
	if c := counting(body, v); c != nil {
		from, ok1 := facts.Constant(c.From)
		end, ok2 := facts.Constant(c.End)
		return ok1 && ok2 && c.By > 0 && c.Op == ir.Lt && from >= lo && end <= hi
	}
	return false
}

// counting returns the Count of the loop whose counter is the value, or nil.
func counting(body *ir.Region, v *ir.Value) (c *ir.Count) {
	if v.Op == ir.Counter {
		body.Visit(func(s *ir.Stmt) {
			if s.Count != nil && s.Count.Index == v {
				c = s.Count
			}
		}, nil)
	}
	return c
}
