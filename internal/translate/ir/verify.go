package ir

import (
	"fmt"
	"slices"
)

// Verify returns an error if the program breaks a rule of the package. Tests call Verify after package build.
func (p *Program) Verify() error {
	known := map[*Function]bool{}
	for _, f := range p.Functions {
		v := &verifier{f: f, known: known, scope: map[*Value]bool{}, ids: map[int]*Value{}}
		if err := v.function(); err != nil {
			at := ""
			if p.Position != nil && v.at != nil && v.at.Pos.IsValid() {
				at = p.Position(v.at.Pos).String() + ": "
			}
			return fmt.Errorf("%sfunction %s: %w", at, f.Name, err)
		}
		known[f] = true
	}
	return nil
}

// broken is the value of a panic for a rule that does not hold.
type broken struct{ error }

func must(holds bool, format string, args ...any) {
	if !holds {
		panic(broken{fmt.Errorf(format, args...)})
	}
}

type verifier struct {
	f      *Function
	known  map[*Function]bool // the functions before the current one
	scope  map[*Value]bool    // bound values that the current statement may use
	ids    map[int]*Value
	around []*Stmt // the enclosing loops and switches
	at     *Stmt
}

func (v *verifier) function() (err error) {
	defer func() {
		if b, ok := recover().(broken); ok {
			err = b.error
		}
	}()
	for i, p := range v.f.Params {
		must(p.Index == i, "parameter %s has number %d, and is number %d", p.Name, p.Index, i)
	}
	for i, l := range v.f.Locals {
		must(l.Index == i, "local %s has number %d, and is number %d", l.Name, l.Index, i)
		must(!l.Type.Memory() && l.Space != Global, "local %s is no value in private or shared memory", l.Name)
	}
	v.region(v.f.Body)
	return nil
}

// region checks a region. The values of the region go out of scope after it.
func (v *verifier) region(r *Region) { v.regionThen(r, func() {}) }

// regionThen checks a region. Before the values of the region go out of scope, it calls the function that is passed as then.
func (v *verifier) regionThen(r *Region, then func()) {
	var here []*Value
	if r != nil {
		for _, s := range r.List {
			v.at = s
			if s.Do == Let {
				must(s.Value != nil && s.Value.Bound, "let: the value is not marked as bound")
				must(!v.scope[s.Value], "let: the value is defined already")
				v.define(s.Value, &here, func() { v.computed(s.Value, true) })
				continue
			}
			v.statement(s)
		}
	}
	then()
	for _, x := range here {
		delete(v.scope, x)
	}
}

func (v *verifier) define(x *Value, here *[]*Value, check func()) {
	check()
	v.scope[x] = true
	*here = append(*here, x)
}

func (v *verifier) statement(s *Stmt) {
	switch s.Do {
	case Store:
		v.place(s.Place)
		must(s.Place.Type.Same(v.use(s.Value)), "store: a %s into a place of type %s", s.Value.Type, s.Place.Type)
	case If:
		v.condition(s.Value)
		v.region(s.Then)
		v.region(s.Else)
	case Loop:
		v.loop(s)
	case Switch:
		v.around = append(v.around, s)
		others := 0
		for i, c := range s.Clauses {
			must(!c.Falls || i < len(s.Clauses)-1, "switch: the last clause falls through")
			if len(c.Tests) == 0 {
				others++
			}
			for _, t := range c.Tests {
				v.regionThen(t.Head, func() { v.condition(t.Cond) })
			}
		}
		for _, c := range s.Clauses {
			v.region(c.Body)
		}
		must(others <= 1, "switch: %d clauses without tests", others)
		v.around = v.around[:len(v.around)-1]
	case Break, Continue:
		must(slices.Contains(v.around, s.Target), "%s: the target is not around the statement", s.Do)
		must(s.Do == Break || s.Target.Do == Loop, "continue: the target is no loop")
	case Return:
		must(len(s.Values) == len(v.f.Results), "return: %d values for %d results", len(s.Values), len(v.f.Results))
		for i, x := range s.Values {
			must(v.f.Results[i].Same(v.use(x)), "return: a %s for a result of type %s", x.Type, v.f.Results[i])
		}
	case Barrier:
	default:
		must(false, "statement %d is unknown", s.Do)
	}
}

func (v *verifier) loop(s *Stmt) {
	v.around = append(v.around, s)
	defer func() { v.around = v.around[:len(v.around)-1] }()
	c := s.Count
	if c == nil {
		v.regionThen(s.Head, func() {
			if s.Value != nil {
				v.condition(s.Value)
			}
		})
		v.region(s.Then)
		v.region(s.Step)
		return
	}
	must(s.Value == nil && s.Head == nil && s.Step == nil, "loop: it counts, and has a condition or a step, too")
	from, end := v.use(c.From), v.use(c.End)
	must(c.Index.Op == Counter && c.Index.Bound && !v.scope[c.Index], "loop: its index is no counter of its own")
	must(from.Integer() && from.Same(end) && from.Same(c.Index.Type), "loop: it counts from a %s to a %s with a %s", from, end, c.Index.Type)
	must(c.Op.Compares() && c.Op != Eq && c.By != 0, "loop: it does not count")
	var here []*Value
	v.define(c.Index, &here, func() { v.number(c.Index) })
	v.region(s.Then)
	delete(v.scope, c.Index)
}

func (v *verifier) condition(x *Value) {
	must(v.use(x).Kind == Bool, "a condition of type %s", x.Type)
}

// number checks that no other value has the same ID.
func (v *verifier) number(x *Value) {
	must(x.ID >= 0 && x.ID < v.f.values, "value %d has a number that the function does not have", x.ID)
	must(v.ids[x.ID] == nil, "%s: value %d is used twice, or shares its number", x.Op, x.ID)
	v.ids[x.ID] = x
}

// use checks a value where it is used, and returns its type.
func (v *verifier) use(x *Value) *Type {
	must(x != nil && x.Type != nil, "a value is missing")
	if x.Bound {
		must(v.scope[x], "%s: value %d is used outside of its region, or before it is defined", x.Op, x.ID)
	} else {
		v.computed(x, false)
	}
	must(!x.Type.Memory() && x.Type.Kind != Tuple || x.Bound && x.Type.Kind == Tuple, "a %s as an operand", x.Type)
	return x.Type
}

// computed checks a value where it is computed. The parameter let says that the value is the value of a let, and not only a part of it.
func (v *verifier) computed(x *Value, let bool) {
	must(x.Op != Counter, "a counter that no loop has")
	must(let || x.Op != Call && x.Op != Atomic, "%s: it is not the value of a let", x.Op)
	must(x.Type != nil || let && x.Op == Call, "%s: it has no type", x.Op)
	if x.Place != nil {
		v.place(x.Place)
	}
	if x.Op == Call {
		v.call(x)
	} else {
		for _, a := range x.Args {
			v.use(a)
		}
		x.verify(v)
	}
	v.number(x)
}

func (v *verifier) call(x *Value) {
	f := x.Call
	must(v.known[f], "call: the function does not come before its caller, or calls itself")
	must(len(x.Args) == len(f.Params), "call of %s: %d arguments for %d parameters", f.Name, len(x.Args), len(f.Params))
	for i, a := range x.Args {
		switch {
		case a.Op == Address:
			v.place(a.Place)
			must(a.Type.Same(&Type{Kind: Pointer, Elem: a.Place.Type, Space: a.Place.Space()}), "address: a %s of a %s", a.Type, a.Place.Type)
			v.number(a)
		case a.Type != nil && a.Type.Memory():
			v.computed(a, false)
		default:
			v.use(a)
		}
		must(a.Type.Same(f.Params[i].Type), "call of %s: a %s for a parameter of type %s", f.Name, a.Type, f.Params[i].Type)
	}
	want := f.Result()
	must(x.Type.Same(want), "call of %s: its result is a %s", f.Name, x.Type)
}

// Result returns the type of the value of a call: the type of the result, a tuple type if there are several results, or nil if there are none.
func (f *Function) Result() *Type {
	switch len(f.Results) {
	case 0:
		return nil
	case 1:
		return f.Results[0]
	}
	return TupleOf(f.Results...)
}

func (v *verifier) owns(p *Param) {
	must(p != nil && p.Index < len(v.f.Params) && v.f.Params[p.Index] == p, "a parameter of another function")
}

// place checks that a place is a part of its local or parameter, has the type that it says, and has valid indexes.
func (v *verifier) place(p *Place) {
	must(p != nil, "a place is missing")
	if l := p.Local; l != nil {
		must(p.Param == nil && l.Index < len(v.f.Locals) && v.f.Locals[l.Index] == l, "a local of another function")
	} else {
		v.owns(p.Param)
		must(p.Param.Type.Memory(), "parameter %s is a value and no place", p.Param.Name)
	}
	t := p.root()
	for _, s := range p.Path {
		must(s.Index == nil || v.use(s.Index).Integer(), "an index that is no integer")
		must((s.Col != nil) == (t.Kind == Matrix), "a row and a column of a %s", t)
		if s.Col != nil {
			must(v.use(s.Col).Integer(), "an index that is no integer")
		}
		must((s.Index != nil) == (t.Kind == Array || t.Kind == Slice || t.Kind == Matrix), "no such part of a %s", t)
		t = s.within(t)
		must(t != nil, "no such field")
	}
	must(t.Same(p.Type) && !t.Memory(), "a place of type %s that says %s", t, p.Type)
}
