package lanes

import (
	"fmt"
	"go/token"
	"slices"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// block writes statements. Afterwards w.active is as before: the caller leaves out the lanes that have left in the block (narrow).
func (w *writer) block(r *ir.Region) {
	if r == nil {
		return
	}
	active, depth := w.active, len(w.depth)
	for i := 0; i < len(r.List); i++ {
		s, exits := r.List[i], w.scope.exits
		w.place(s)
		if n := w.perLane(r.List[i:]); n > 0 {
			i += n - 1
			continue
		}
		w.last = w.callee != nil && i == len(r.List)-1 && r == w.callee.Body
		if w.statement(s, r.List[i+1:]) {
			break // nothing after it runs
		}
		if w.scope.exits > exits {
			w.narrow()
		}
	}
	w.active, w.depth = active, w.depth[:depth]
}

// place notes which statement the next lines are from.
func (w *writer) place(s *ir.Stmt) { w.pos = either(w.foreign.IsValid(), w.foreign, s.Pos) }

// statement writes a statement; rest are those after it. It reports whether no lane runs what follows.
func (w *writer) statement(s *ir.Stmt, rest []*ir.Stmt) (ended bool) {
	for _, l := range w.homes.Before[s] {
		w.declare(l, zero(l), rest)
	}
	switch s.Do {
	case ir.Let:
		w.let(s.Value, rest)
	case ir.Store:
		l := s.Place.Local
		switch {
		case l == nil:
			w.store(s)
		case l.Space != ir.Private || len(s.Place.Path) > 0 || l.Type.Kind >= ir.C64:
			refuse(s.Pos, "%s has type %s; only numbers and bools become vectors", l.Name, goType(l.Type))
		case w.homes.Begins[s] == l:
			w.declare(l, w.value(s.Value), rest)
		default:
			w.assign(w.vars[l], w.value(s.Value))
		}
	case ir.If:
		w.branch(s)
	case ir.Loop:
		w.loops(s)
	case ir.Switch:
		w.choice(s)
	case ir.Return:
		return w.returns(s)
	case ir.Break, ir.Continue:
		return w.jump(s)
	default:
		refuse(s.Pos, "this statement does not become vector code")
	}
	return false
}

// let evaluates a value, and keeps it for the statements after it.
func (w *writer) let(v *ir.Value, rest []*ir.Stmt) {
	switch {
	case facts.Loaded(v) != nil && lasts(v, facts.Loaded(v), rest):
		w.bound[v] = w.load(v)
	case v.Op == ir.Call:
		w.call(v)
	case v.Type.Kind == ir.Array:
		w.array(v)
	default:
		w.bound[v] = w.name(v.Name, w.compute(v))
	}
}

// lasts reports whether a local keeps the value that a let has read from it, up to the last use of that value.
func lasts(v *ir.Value, l *ir.Local, rest []*ir.Stmt) bool {
	changed := false
	for _, s := range rest {
		used, stored := false, false
		(&ir.Region{List: []*ir.Stmt{s}}).Visit(func(t *ir.Stmt) {
			used = used || t.Value == v || slices.Contains(t.Operands(), v)
			stored = stored || t.Do == ir.Store && t.Place.Local == l
			for _, c := range t.Clauses {
				used = used || slices.ContainsFunc(c.Tests, func(x ir.Test) bool { return x.Cond == v })
			}
		}, func(x *ir.Value) { used = used || slices.Contains(x.Operands(), v) })
		if used && (changed || stored && s.Do != ir.Store) {
			return false
		}
		changed = changed || stored
	}
	return true
}

// zero returns the first value of a local that no store declares.
func zero(l *ir.Local) value {
	switch t := l.Type; {
	case t.Kind == ir.Bool:
		return number(t.Kind, false)
	case t.Float():
		return number(t.Kind, 0.0)
	case t.Signed():
		return number(t.Kind, int64(0))
	case t.Integer():
		return number(t.Kind, uint64(0))
	}
	refuse(l.Pos, "%s has type %s; only numbers and bools become vectors", l.Name, goType(l.Type))
	return value{}
}

// declare adds a local, with its first value; rest are the statements after it.
func (w *writer) declare(l *ir.Local, v value, rest []*ir.Stmt) {
	n := &variable{kind: l.Type.Kind, depth: len(w.depth), key: key{w.path, l, ""}, how: v.how, step: v.step}
	w.vars[l] = n
	for _, loop := range rest { // a variable that only a loop uses counts as declared in the loop: lanes that have left the loop do not use it again
		if uses(loop, l) {
			if loop.Do == ir.Loop && w.differs[key{w.path, loop, ""}] && !usedAfter(rest, loop, l) {
				n.depth++
			}
			break
		}
	}
	if v.how == differ {
		w.learn(n.key)
	}
	if w.differs[n.key] && w.isSmall(l, nil) {
		n.small, v = true, low(v, n.key)
	}
	n.name = w.fresh(either(l.Name == "", "v", l.Name))
	text := v.text
	if w.differs[n.key] {
		n.how, text = differ, w.vectorFor(n, v)
	}
	w.put(n.name, ":=", text)
}

// vectorFor returns the vector of a value that a local becomes.
func (w *writer) vectorFor(n *variable, v value) string {
	if n.small {
		return w.vectorOfSmall(v)
	}
	return w.vector(v)
}

// uses reports whether a statement uses a local.
func uses(s *ir.Stmt, l *ir.Local) (found bool) {
	(&ir.Region{List: []*ir.Stmt{s}}).Visit(func(t *ir.Stmt) { found = found || t.Place != nil && t.Place.Local == l },
		func(v *ir.Value) { found = found || v.Place != nil && v.Place.Local == l })
	return found
}

func usedAfter(list []*ir.Stmt, s *ir.Stmt, l *ir.Local) bool {
	return slices.ContainsFunc(list[slices.Index(list, s)+1:], func(t *ir.Stmt) bool { return uses(t, l) })
}

// assign changes a local in the lanes that run.
func (w *writer) assign(n *variable, v value) {
	narrowed := len(w.depth) > n.depth
	if led := n.how == leads && v.how == leads && v.step == n.step; narrowed || !led && (v.how != alike || n.how == leads) {
		w.learn(n.key)
	}
	if n.small {
		v = low(v, n.key)
	}
	if n.how != differ {
		w.put(n.name, "=", v.text)
		return
	}
	w.put(n.name, "=", w.blend(w.vectorFor(n, v), n, narrowed))
}

// blend returns a vector that has the numbers of a text in the lanes that run, and those of a variable in the other lanes. If narrowed is false, the other
// lanes do not need the variable, and blend returns the text.
func (w *writer) blend(text string, n *variable, narrowed bool) string {
	switch {
	case !narrowed || w.active == "":
		return text
	case n.kind == ir.Bool:
		return fmt.Sprintf("lanes.Choose%d(%s, %s, %s)", w.bits, w.active, text, n.name)
	}
	return fmt.Sprintf("%s.IfElse(%s, %s)", text, w.active, n.name)
}

func (w *writer) branch(s *ir.Stmt) {
	if w.isWhole(s) {
		for _, t := range terms(s.Value, ir.Both) {
			if !facts.Pure(t) {
				break
			}
			if w.leavesOthers(t) {
				w.truths[t] = true
			}
		}
	}
	c := w.value(s.Value)
	other := s.Else
	if other != nil && len(other.List) == 0 {
		other = nil
	}
	switch {
	case c.text == "true":
		w.block(s.Then)
		return
	case c.text == "false":
		w.block(other)
		return
	case c.how == alike:
		w.write("if %s {", c.text)
		w.block(s.Then)
		if other != nil {
			w.write("} else {")
			w.block(other)
		}
		w.write("}")
		return
	}
	active := w.active
	then, rest := c.text, ""
	if other != nil {
		then = w.temp("c", then)
		if rest = fmt.Sprintf("lanes.Not%d(%s)", w.bits, then); active != "" {
			rest = w.without(active, then)
		}
		rest = w.temp("off", rest)
	}
	if active != "" {
		then = fmt.Sprintf("%s.And(%s)", active, then)
	}
	if !w.frozen[then] {
		then = w.temp("on", then)
	}
	w.depth = append(w.depth, "if")
	w.branchOf(then, s.Then)
	if other != nil {
		w.branchOf(rest, other)
	}
	w.depth = w.depth[:len(w.depth)-1]
	w.active = active
}

// isWhole reports whether a phase is one if statement, after statements that only compute numbers for it.
func (w *writer) isWhole(s *ir.Stmt) bool {
	list := w.Function.Body.List
	if w.Part == nil || w.Part.Round != "" || s.Else != nil || list[len(list)-1] != s {
		return false
	}
	return !slices.ContainsFunc(list[:len(list)-1], func(t *ir.Stmt) bool {
		l := facts.Stored(t)
		return t.Do != ir.Let && (l == nil || l.Space != ir.Private) || !facts.Pure(t.Value)
	})
}

// branchOf writes a branch of an if statement for the lanes of a mask. A long branch is left out if there are none. A loop or a function might not end
// without a lane that runs it.
func (w *writer) branchOf(mask string, r *ir.Region) {
	w.active = mask
	statements := map[any]bool{}
	for _, s := range r.List {
		statements[s.Syntax] = true
	}
	guarded := len(statements) > 3 || isLong(r)
	if guarded {
		w.write("if %s {", w.any(mask))
	}
	w.block(r)
	if guarded {
		w.write("}")
	}
}

// isLong reports whether statements have a loop, or call a function.
func isLong(r *ir.Region) (found bool) {
	r.Visit(func(s *ir.Stmt) { found = found || s.Do == ir.Loop || s.Do == ir.Let && s.Value.Op == ir.Call }, nil)
	return found
}

func hasLoop(r *ir.Region) (found bool) {
	r.Visit(func(s *ir.Stmt) { found = found || s.Do == ir.Loop }, nil)
	return found
}

// choice writes a switch as if statements, each in the else branch of the one before.
func (w *writer) choice(s *ir.Stmt) {
	var other *ir.Region
	for _, c := range s.Clauses {
		if c.Falls || facts.ExitOf(s).Breaks {
			refuse(s.Pos, "a switch with break or fallthrough does not become vector code")
		}
		if len(c.Tests) == 0 {
			other = c.Body
		}
	}
	for _, c := range slices.Backward(s.Clauses) {
		var cond *ir.Value
		var head []*ir.Stmt
		for i, t := range c.Tests {
			if t.Head != nil && len(t.Head.List) > 0 {
				if head = t.Head.List; i > 0 {
					refuse(t.Cond.Pos, "this is evaluated only after what stands before it; use an if statement")
				}
			}
			if cond == nil {
				cond = t.Cond
				continue
			}
			cond = &ir.Value{Op: ir.Either, Type: cond.Type, Args: []*ir.Value{cond, t.Cond}, Pos: cond.Pos}
		}
		if cond != nil {
			test := &ir.Stmt{Do: ir.If, Pos: s.Pos, Syntax: s.Syntax, Value: cond, Then: c.Body, Else: other}
			other = &ir.Region{List: append(slices.Clone(head), test)}
		}
	}
	w.block(other)
}

// leaving is a function or a loop, which some lanes may leave before others.
type leaving struct {
	outer *leaving
	loop  *ir.Stmt // nil for a function
	key   key
	mask  string // the variable with the lanes that have not left
	awake string // the variable with those of them that have not left this round of the loop either
	start string // the value of active at the start of a round
	exits int    // the number of statements by which lanes leave it

	post  bool   // of a loop: its step is in the head of the Go loop, so a continue can be a Go continue
	after []line // otherwise: the lines of the step

	results []*variable // the results of a function, if lanes return at different places
	values  []value     // the results of a function, if all lanes return at the end
}

// narrow removes from the lanes that run (w.active) those that have left the round, the loop or the function.
func (w *writer) narrow() {
	mask := w.scope.mask
	if w.scope.awake != "" {
		mask = w.scope.awake
		w.depth = append(w.depth, "continue")
	}
	switch {
	case mask == "": // the mask is not declared: this attempt has only now learnt that it is needed
	case w.active == "" || w.active == w.scope.start || w.active == mask:
		w.active = mask
	default:
		w.active = w.temp("on", fmt.Sprintf("%s.And(%s)", w.active, mask))
	}
}

// leavable declares the mask of the lanes that have not left a function or loop, if some leave it earlier than others.
func (w *writer) leavable(s *leaving) {
	if w.differs[s.key] {
		s.mask = w.temp("live", w.lanes())
		w.frozen[s.mask] = false
		if s.loop != nil { // from the second round on some lanes may have left
			w.active = s.mask
		}
	}
	s.start = w.active
}

// lanes returns the mask of the lanes that run.
func (w *memory) lanes() string {
	if w.active == "" {
		return fmt.Sprintf("lanes.All%d()", w.bits)
	}
	return w.active
}

// jump writes a break or a continue.
func (w *writer) jump(s *ir.Stmt) bool {
	scope := w.scope
	if s.Target != scope.loop {
		refuse(s.Pos, "%s with a label, goto and fallthrough do not become vector code", s.Do)
	}
	all := w.active == scope.start
	switch {
	case all && (s.Do == ir.Break || scope.post):
		w.write("%s", s.Do)
		return true
	case s.Do == ir.Break:
		w.learn(scope.key)
		w.leave(scope.mask, scope.awake)
	default:
		w.learn(scope.key.part("awake"))
		w.leave(scope.awake)
	}
	scope.exits++
	return true
}

// leave removes the lanes that run from masks.
func (w *writer) leave(masks ...string) {
	on := w.lanes()
	masks = slices.DeleteFunc(masks, func(m string) bool { return m == "" })
	slices.SortStableFunc(masks, func(a, b string) int { return strings.Compare(fmt.Sprint(a == on), fmt.Sprint(b == on)) }) // on changes last: the others read it
	for _, m := range slices.Compact(masks) {
		w.put(m, "=", w.without(m, on))
	}
}

// returns writes a return.
func (w *writer) returns(s *ir.Stmt) bool {
	function := w.scope
	for function.loop != nil {
		function = function.outer
	}
	if w.callee == nil && w.active == "" { // all threads of the vector are done
		w.write("continue %s", w.label)
		return true
	}
	if w.callee != nil {
		for _, x := range s.Values {
			numberOf(x)
		}
		if w.last && function.exits == 0 {
			for i, x := range s.Values {
				v := w.value(x)
				if w.differs[function.results[i].key] {
					v = value{text: w.vector(v), how: differ, kind: v.kind}
				}
				function.values = append(function.values, v)
			}
			return true
		}
		for i, x := range s.Values {
			v, r := w.value(x), function.results[i]
			if w.learn(r.key); r.how == differ {
				if function.exits > 0 && w.active == function.start {
					w.narrow()
				}
				w.put(r.name, "=", w.blend(w.vector(v), r, true))
			}
		}
		if w.last {
			return true
		}
	}
	var masks []string
	for scope := w.scope; ; scope = scope.outer {
		w.learn(scope.key)
		masks = append(masks, scope.awake, scope.mask)
		scope.exits++
		if scope.loop == nil {
			break
		}
	}
	w.leave(masks...)
	return true
}

// call writes the statements of a function of the package in place of a call of it.
func (w *writer) call(v *ir.Value) {
	f := v.Call
	if f.Prints != "" {
		return // only another form of the kernel prints on the host
	}
	if len(f.Results) == 0 {
		refuse(v.Pos, "a call of a function without results does not become vector code")
	}
	w.fused = w.fused || fuses(f)
	for i, m := range f.Params {
		switch a := v.Args[i]; {
		case m.Type.Kind == ir.Struct && a.Op == ir.Argument:
			w.given[m] = a.Param
		case m.Type.Memory():
			refuse(a.Pos, "memory that is passed to a function does not become vector code; pass numbers")
		default:
			numberOf(a)
			w.passed[m] = w.name(m.Name, w.value(a))
		}
	}
	foreign := w.foreign
	if d, ok := f.Syntax.(interface{ Pos() token.Pos }); ok && !foreign.IsValid() && !w.Own(d.Pos()) {
		w.foreign = v.Pos
	}
	path, callee, active, depth, scope, last, pos, homes := w.path, w.callee, w.active, w.depth, w.scope, w.last, w.pos, w.homes
	w.path += fmt.Sprintf("%d/", v.ID)
	w.callee, w.homes = f, facts.HomesOf(f)
	w.depth = slices.Clip(w.depth)
	inner := &leaving{key: key{w.path, f, ""}}
	for i, t := range f.Results {
		r := &variable{kind: t.Kind, key: inner.key.part(fmt.Sprint("result", i)), depth: len(w.depth)}
		if w.differs[r.key] {
			r.how, r.name = differ, w.fresh(f.Name+"_")
			w.lines = append(w.lines, line{text: fmt.Sprintf("var %s simd.%s", r.name, w.vectorOf(t.Kind)), pos: w.pos, name: r.name})
		}
		inner.results = append(inner.results, r)
	}
	w.scope = inner
	w.leavable(inner)
	w.block(f.Body)
	values := inner.values
	for _, r := range inner.results[len(values):] {
		if r.name == "" {
			panic(tryAgain{}) // this attempt has learnt that the result differs
		}
		values = append(values, value{text: r.name, how: r.how, kind: r.kind})
		w.frozen[r.name] = true
	}
	w.path, w.callee, w.active, w.depth, w.scope, w.last, w.pos, w.homes, w.foreign = path, callee, active, depth, scope, last, pos, homes, foreign
	for i := range values { // no statement changes the function's variables any more
		w.frozen[values[i].text] = w.frozen[values[i].text] || w.isVariable(values[i].text)
		values[i] = w.name(either(v.Name == "", "v", v.Name), values[i])
	}
	if len(values) > 1 {
		w.results[v] = values
		return
	}
	w.bound[v] = values[0]
}

// isVariable reports whether a text is the name of a local, or of the result, of a function that the kernel has called.
func (w *writer) isVariable(text string) bool {
	for _, n := range w.vars {
		if n.name == text {
			return true
		}
	}
	return false
}
