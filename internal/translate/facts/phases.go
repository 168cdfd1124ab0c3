package facts

import (
	"fmt"
	"go/token"
	"slices"

	"github.com/go-halyard/halyard/internal/translate/ir"
)

// This file divides a kernel at its barriers, for a target that runs the threads of a block one after the other. A phase is what the threads do between two
// barriers. What is around barriers, a loop or an if, then runs once for the block. So its condition must be the same for all threads of the block.

// Class says from where the code of a phase has the value of a variable.
type Class uint8

// The classes of variables.
const (
	Own   Class = iota // from its thread, which must keep it for later phases
	Again              // it follows from the thread's place and from variables of class Same, so each phase can compute it again
	Same               // all threads of the block have the same value, and it is computed before they run
)

// Phase is what the threads do between two barriers, or a statement that contains phases.
type Phase struct {
	At        token.Pos  // the phase has what the Go function has from here to the next phase of the same list
	List      []*ir.Stmt // without variables of the classes Again and Same
	Last      bool       // it is the kernel's last phase, so threads can return in it
	Returns   bool       // some may return
	Continues []*ir.Stmt // with these, threads go on with the next round of the loop whose last phase this is

	Around       *ir.Stmt // a loop or an if with barriers inside, that all threads run alike
	Inside, Else []*Phase

	Together *Together // of a loop, which is then the last statement of List: the threads can take its rounds together
}

// Division is a kernel that is divided at its barriers.
type Division struct {
	Phases  []*Phase
	Refused *Refusal // why it cannot be divided, or nil
	divider
}

// Refusal says why a kernel cannot be divided.
type Refusal struct {
	At     token.Pos
	Text   string
	Around *ir.Stmt // the statement around barriers that is refused, or nil
}

// Divergent is the text of a refusal of a barrier. It has a verb for the line of the statement around it.
const Divergent = "t.Barrier must be a statement of the kernel itself, or of a loop or an if that all threads of the block run alike, because its condition " +
	"depends only on constants, parameters and the like; write it outside of the statement that begins in line %d, and only the other statements inside"

const (
	uneven = "a loop around a barrier must run as often for all threads, and this one may not: its number of rounds can depend on constants, parameters, the sizes " +
		"of slices and matrices, the size of the grid, the place of the block, elements of slices that the kernel does not write, and functions of these; " +
		"pass another number to the kernel"
	outside = "a loop around a barrier must begin with variables of its own, as in for i := 0; i < n; i++"
	leaves  = "threads that %s here do not come to the barriers that follow, where the others of their block wait for them; " +
		"put the statements that they leave out into an if, and t.Barrier outside of it"
	changes = "a kernel with barriers or shared memory cannot change the parameter %s; use a variable for it"
)

// Source answers what the division must know of the Go text, since the phases are cut from it.
type Source struct {
	// Value returns the Go expression with which a variable is declared, or nil if the head of a loop declares it. It returns false if the expression
	// cannot be written elsewhere.
	Value func(at token.Pos) (e any, ok bool)
	Names func(e any) []token.Pos // where the variables are declared that a Go expression names
	Cut   func(at token.Pos) bool // whether a phase can begin with the statement at a position
	Once  func(at token.Pos) bool // whether the target has other code for the if at a position, which it runs once for the block
}

// Divide divides a kernel. The text of a generic kernel is written once, so the division holds for all instances. If together is set, threads may
// take the rounds of loops together.
func Divide(instances []*ir.Function, effects map[*ir.Function]*Effects, source Source, together bool) *Division {
	d := &Division{divider: divider{effects: effects, source: source, together: together, most: map[token.Pos]Class{}, alone: map[token.Pos]bool{}}}
	for _, f := range slices.Backward(instances) { // the first instance is divided last, and keeps to the classes that the others allow
		d.f, d.vars, d.named, d.parts, d.locals = f, map[token.Pos]*ir.Var{}, map[*ir.Value]*ir.Var{}, map[*ir.Value]*ir.Var{}, map[*ir.Local]*ir.Var{}
		d.classes, d.heads, d.counts, d.results, d.returns = map[token.Pos]Class{}, map[*ir.Value]bool{}, map[*ir.Value]bool{}, map[*ir.Local]bool{}, token.NoPos
		d.Phases = d.divide()
	}
	d.Refused = d.refused
	return d
}

type divider struct {
	f        *ir.Function
	effects  map[*ir.Function]*Effects
	source   Source
	together bool
	refused  *Refusal

	vars    map[token.Pos]*ir.Var
	named   map[*ir.Value]*ir.Var // the first variable that has a value
	parts   map[*ir.Value]*ir.Var // the last slice that a value belongs to
	locals  map[*ir.Local]*ir.Var
	classes map[token.Pos]Class // of variables that have been asked for
	heads   map[*ir.Value]bool  // values that decide whether the threads come to a barrier
	counts  map[*ir.Value]bool  // the counters of loops around barriers
	results map[*ir.Local]bool  // results of && and || with calls, in the heads of loops and ifs around barriers
	returns token.Pos           // the first return
	most    map[token.Pos]Class // what all instances allow
	alone   map[token.Pos]bool  // loops whose rounds the threads of some instance cannot take together
}

// refuse notes why the kernel cannot be divided. The first reason counts.
func (d *divider) refuse(at token.Pos, around *ir.Stmt, text string, args ...any) {
	if d.refused == nil {
		d.refused = &Refusal{at, fmt.Sprintf(text, args...), around}
	}
}

func (d *divider) divide() []*Phase {
	for _, v := range d.f.Vars {
		d.vars[v.Pos] = v
		if v.Value != nil && d.named[v.Value] == nil {
			d.named[v.Value] = v
		}
		for _, x := range v.Part {
			d.parts[x] = v
		}
		if v.Local != nil {
			d.locals[v.Local] = v
		}
		if v.Param != nil && v.Local != nil {
			rest := &ir.Region{List: slices.DeleteFunc(slices.Clone(d.f.Body.List), func(s *ir.Stmt) bool { return s.Syntax == d.f.Syntax })}
			d.refuse(changed(rest, v.Local), nil, changes, v.Name)
		}
	}
	d.f.Body.Visit(func(s *ir.Stmt) {
		if s.Do == ir.Return && !d.returns.IsValid() {
			d.returns = s.Pos
		}
	}, nil)
	d.decide(d.f.Body)
	all := d.region(d.f.Body)
	d.leave(all, nil, true)
	return all
}

// Var returns the variable that is declared at a position, or nil.
func (d *divider) Var(at token.Pos) *ir.Var { return d.vars[at] }

// Class returns the class of the variable that is declared at a position.
func (d *divider) Class(at token.Pos) Class {
	if v := d.vars[at]; v != nil {
		return d.class(v)
	}
	return Own
}

// Named returns the variable by whose name the Go text refers to a value, or nil.
func (d *divider) Named(v *ir.Value) *ir.Var { return d.named[v] }

// Memory returns the variable in whose memory a place is.
func (d *divider) Memory(p *ir.Place) *ir.Var {
	if p.Local != nil {
		return d.locals[p.Local]
	}
	return d.vars[p.Param.Pos]
}

// Changes reports whether the threads change a variable in a phase.
func (p *Phase) Changes(v *ir.Var) bool {
	return v.Local != nil && changed(&ir.Region{List: p.List}, v.Local).IsValid()
}

// groups returns the statements of a region, those of one Go statement together.
func groups(list []*ir.Stmt) (all [][]*ir.Stmt) {
	for end := len(list); end > 0; {
		first := end - 1
		for first > 0 && list[first-1].Pos >= list[end-1].Pos { // what comes before a loop, such as its init, is inside of it in Go
			first--
		}
		all, end = append(all, list[first:end]), first
	}
	slices.Reverse(all)
	return all
}

// barrierIn returns the last barrier in a statement that is not a barrier itself, or nil.
func barrierIn(s *ir.Stmt) (barrier *ir.Stmt) {
	for _, r := range s.Regions() {
		r.Visit(func(s *ir.Stmt) {
			if s.Do == ir.Barrier {
				barrier = s
			}
		}, nil)
	}
	return barrier
}

// barrierIn returns the last barrier in a statement that is not a barrier itself. If the statement runs once for the block, it returns the statement. If there
// is no barrier, it returns nil.
func (d *divider) barrierIn(s *ir.Stmt) *ir.Stmt {
	if s.Do == ir.If && d.source.Once != nil && d.source.Once(s.Pos) {
		return s
	}
	return barrierIn(s)
}

// headOf returns the statements that are in the head of a loop or an if in Go, and the region of the body. The loop or the if is the last one of the statements.
func headOf(g []*ir.Stmt) (head []*ir.Stmt, body *ir.Region) {
	s := g[len(g)-1]
	if s.Do != ir.Loop {
		return g[:len(g)-1], s.Then
	}
	n := 0
	for n < len(s.Then.List) && s.Then.List[n].Pos <= s.Pos { // the variables of a range
		n++
	}
	head = slices.Concat(g[:len(g)-1], s.Then.List[:n])
	for _, r := range []*ir.Region{s.Head, s.Step} {
		if r != nil {
			head = append(head, r.List...)
		}
	}
	return head, &ir.Region{List: s.Then.List[n:]}
}

// decide notes the values that decide whether threads come to the barriers of a region.
func (d *divider) decide(r *ir.Region) {
	var note func(v *ir.Value)
	note = func(v *ir.Value) {
		if v != nil && !d.heads[v] {
			d.heads[v] = true
			for _, a := range v.Operands() {
				note(a)
			}
		}
	}
	for _, g := range groups(r.List) {
		s := g[len(g)-1]
		if d.barrierIn(s) == nil {
			continue
		}
		head, _ := headOf(g)
		(&ir.Region{List: head}).Visit(nil, note)
		for _, v := range append(s.Operands(), s.Value) {
			note(v)
		}
		for _, r := range s.Regions() {
			d.decide(r)
		}
	}
}

// region divides the statements of a region into phases.
func (d *divider) region(r *ir.Region) (all []*Phase) {
	var now *Phase
	begin := func(at token.Pos) {
		now = &Phase{At: at}
		all = append(all, now)
	}
	begin(token.NoPos)
	for _, g := range groups(r.List) {
		s := g[len(g)-1]
		var together *Together
		stays := d.source.Cut(s.Pos) && len(leaving(now.List)) == 0 // threads that have left take no rounds
		if stays {
			together = d.rounds(g)
		}
		switch barrier := d.barrierIn(s); {
		case s.Do == ir.Barrier:
			begin(s.Pos + 1)
		case barrier != nil:
			all = append(all, d.around(g, barrier))
			begin(s.Pos + 1)
		case together != nil:
			all = append(all, &Phase{At: s.Pos, List: g, Together: together})
			begin(s.Pos + 1)
		default:
			if stays && slices.ContainsFunc(g, d.stops) { // it is computed for the block, after what all threads do before
				begin(s.Pos)
			}
			if !d.followed(g) {
				now.List = append(now.List, g...)
			}
		}
	}
	return all
}

// declares returns the variable whose value, or a part of it, a let computes.
func (d *divider) declares(s *ir.Stmt) *ir.Var {
	if v := d.named[s.Value]; v != nil || s.Do != ir.Let {
		return v
	}
	return d.parts[s.Value]
}

// followed reports whether statements only declare variables of the classes Again and Same.
func (d *divider) followed(g []*ir.Stmt) bool {
	return d.declares(g[len(g)-1]) != nil && !slices.ContainsFunc(g, func(s *ir.Stmt) bool {
		v := d.declares(s)
		return s.Do != ir.Let || v != nil && d.class(v) == Own || v == nil && d.computed(s.Value)&own != 0
	})
}

// stops reports whether a statement declares a variable of class Same whose value can be computed only once.
func (d *divider) stops(s *ir.Stmt) bool {
	v := d.declares(s)
	return s.Do == ir.Let && v != nil && d.class(v) == Same && d.computed(s.Value)&stop != 0
}

// around divides a loop or an if with a barrier inside. It is the last one of the statements g.
func (d *divider) around(g []*ir.Stmt, barrier *ir.Stmt) *Phase {
	s := g[len(g)-1]
	refuse := func(at token.Pos, text string) {
		if s.Do != ir.Loop {
			at, text = barrier.Pos, Divergent
		}
		d.refuse(at, s, "%s", text)
	}
	head, body := headOf(g)
	if c := s.Count; c != nil {
		if d.counts[c.Index] = true; d.named[c.Index] != nil {
			d.classes[d.named[c.Index].Pos] = Same
		}
		if !d.once(c.From) {
			refuse(d.named[c.Index].Pos, uneven)
		}
	}
	d.begins(head, body, s, refuse)
	if s.Do == ir.Switch || s.Count == nil && (s.Value == nil || !d.once(s.Value)) || s.Count != nil && !d.once(s.Count.End) {
		refuse(s.Pos, uneven)
		return &Phase{At: s.Pos, Around: s}
	}
	p := &Phase{At: s.Pos, Around: s, Inside: d.region(body)}
	if s.Else != nil {
		p.Else = d.region(s.Else)
	}
	return p
}

// begins checks the statements in the head of a loop or an if.
func (d *divider) begins(head []*ir.Stmt, body *ir.Region, s *ir.Stmt, refuse func(token.Pos, string)) {
	for _, h := range head {
		l, v := d.locals[Stored(h)], d.declares(h)
		switch {
		case l != nil && l.Pos > s.Pos: // a variable of its own
			for _, r := range []*ir.Region{body, s.Else} {
				if at := changed(r, l.Local); at.IsValid() {
					refuse(at, uneven)
				}
			}
			if !d.once(h.Value) {
				refuse(l.Pos, uneven)
			}
			d.classes[l.Pos] = Same
		case l != nil:
			refuse(h.Pos, outside)
		case Stored(h) != nil && d.once(h.Value): // the result of && or ||
			d.results[Stored(h)] = true
		case h.Do == ir.If && d.once(h.Value):
			d.begins(h.Then.List, body, s, refuse)
		case v != nil && d.class(v) != Same:
			at := v.Pos
			if s.Count != nil { // of a range
				at = s.Pos
			}
			refuse(at, uneven)
		case h.Do != ir.Let || v == nil && d.computed(h.Value)&^stop != 0:
			refuse(s.Pos, uneven)
		}
	}
}

// leaving returns the statements by which a thread leaves a list of statements early.
func leaving(list []*ir.Stmt) (all []*ir.Stmt) {
	in := map[*ir.Stmt]bool{}
	(&ir.Region{List: list}).Visit(func(s *ir.Stmt) {
		in[s] = true
		if s.Do == ir.Return || s.Target != nil && !in[s.Target] {
			all = append(all, s)
		}
	}, nil)
	return all
}

// leave refuses statements by which threads leave out a barrier that follows. Threads can return in the kernel's last phase, and go on with the next round in
// the last phase of a loop.
func (d *divider) leave(all []*Phase, loop *ir.Stmt, top bool) {
	for i, p := range all {
		last := i == len(all)-1
		p.Last = last && top
		for _, s := range leaving(p.List) {
			switch {
			case s.Do == ir.Return && p.Last:
				p.Returns = true
			case s.Do == ir.Continue && last && s.Target == loop:
				p.Continues = append(p.Continues, s)
			default:
				d.refuse(s.Pos, nil, leaves, s.Do)
			}
		}
		if p.Around != nil {
			d.leave(p.Inside, p.Around, false)
			d.leave(p.Else, nil, false)
		}
	}
}
