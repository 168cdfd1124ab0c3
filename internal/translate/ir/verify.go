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
		must((l.Space == Constant) == (l.Table != nil), "local %s is a table in other memory, or none", l.Name)
		if l.Table != nil {
			must(l.Type == l.Table.Type && len(l.Type.fitted(l.Table.Parts)) == 0, "table %s has other parts than its type", l.Name)
		}
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
		must(s.Place.Space() != Constant, "store: into a table")
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
			must(a.Place.Space() != Constant, "address: of a table")
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

// verify checks the types of an operation. Its operands are checked already.
func (x *Value) verify(v *verifier) {
	n := len(x.Args)
	arg := func(i int) *Type {
		must(i < n, "%s: %d operands are too few", x.Op, n)
		return x.Args[i].Type
	}
	operands := func(want int) { must(n == want, "%s: %d operands, and it takes %d", x.Op, n, want) }
	switch {
	case x.Op == Const:
		operands(0)
		must(x.Type.fits(x.Const), "const: %v (%T) is no %s", x.Const, x.Const, x.Type)
	case x.Op == Argument:
		operands(0)
		v.owns(x.Param)
		must(x.Type.Same(x.Param.Type), "argument: %s is a %s", x.Param.Name, x.Param.Type)
	case x.Op == Len || x.Op == Rows || x.Op == Cols:
		operands(0)
		v.owns(x.Param)
		must(x.Type.Kind == Int && x.Param.Type.Kind == map[Op]Kind{Len: Slice, Rows: Matrix, Cols: Matrix}[x.Op], "%s of a %s", x.Op, x.Param.Type)
	case x.Op >= InGrid && x.Op <= AllBlocks:
		operands(0)
		must(x.Type.Kind == Int && len(x.Which) == 1 && x.Which[0] >= 0 && x.Which[0] < 3, "%s: no such dimension", x.Op)
	case x.Op >= Neg && x.Op <= Imag:
		operands(1)
		must(x.unary(arg(0)), "%s: a %s of a %s", x.Op, x.Type, arg(0))
	case x.Op == Shl || x.Op == Shr:
		operands(2)
		must(x.Type.Integer() && x.Type.Same(arg(0)) && arg(1).Integer(), "%s: a %s of a %s and a %s", x.Op, x.Type, arg(0), arg(1))
	case x.Op == Complex:
		operands(2)
		must(x.Type.Complex() && arg(0).Same(x.Type.Part()) && arg(1).Same(arg(0)), "complex: a %s of a %s and a %s", x.Type, arg(0), arg(1))
	case x.Op.Binary():
		operands(2)
		must(x.Type.Same(arg(0)) && x.Type.Same(arg(1)) && x.arithmetic(), "%s: a %s of a %s and a %s", x.Op, x.Type, arg(0), arg(1))
	case x.Op.Compares():
		operands(2)
		t := arg(0)
		must(x.Type.Kind == Bool && t.Same(arg(1)) && (x.Op <= Ne || t.Integer() || t.Float()), "%s: a %s of a %s and a %s", x.Op, x.Type, t, arg(1))
	case x.Op == Both || x.Op == Either:
		operands(2)
		must(x.Type.Kind == Bool && arg(0).Kind == Bool && arg(1).Kind == Bool, "%s: a %s of a %s and a %s", x.Op, x.Type, arg(0), arg(1))
	case x.Op == Go:
		x.verifyGo()
	case x.Op == Composite:
		x.verifyComposite()
	case x.Op == Extract:
		x.verifyExtract(arg(0))
	case x.Op == Load:
		operands(0)
		must(x.Place != nil && x.Type.Same(x.Place.Type), "load: a %s of a place of another type", x.Type)
	case x.Op == Address:
		must(false, "address: it is no argument of a call")
	case x.Op == Atomic:
		x.verifyAtomic()
	default:
		must(false, "operation %d is unknown", x.Op)
	}
}

// fits reports whether a constant has the form that a type needs.
func (t *Type) fits(c any) bool {
	switch c := c.(type) {
	case bool:
		return t.Kind == Bool
	case int64:
		return t.Signed() && c<<(64-t.Bits())>>(64-t.Bits()) == c
	case uint64:
		return t.Integer() && !t.Signed() && c<<(64-t.Bits())>>(64-t.Bits()) == c
	case float64:
		return t.Kind == F64 || t.Kind == F32 && (float64(float32(c)) == c || c != c)
	case complex128:
		return t.Complex()
	}
	return false
}

// fitted checks the parts of a table from those of a type on, and returns the parts behind them.
func (t *Type) fitted(parts []any) []any {
	for range t.Len {
		parts = t.Elem.fitted(parts)
	}
	for _, f := range t.Fields {
		parts = f.Type.fitted(parts)
	}
	if t.Kind < Array {
		must(len(parts) > 0 && t.fits(parts[0]), "a table has no %s where its type has one", t)
		parts = parts[1:]
	}
	return parts
}

func (x *Value) unary(of *Type) bool {
	switch x.Op {
	case Neg:
		return x.Type.Number() && x.Type.Same(of)
	case Not:
		return x.Type.Kind == Bool && of.Kind == Bool
	case Complement:
		return x.Type.Integer() && x.Type.Same(of)
	case Convert:
		return x.Type.Number() && of.Number() && x.Type.Complex() == of.Complex() && !x.Type.Same(of)
	case Round:
		return (x.Type.Float() || x.Type.Complex()) && x.Type.Same(of)
	}
	return of.Complex() && x.Type.Same(of.Part())
}

// arithmetic reports whether the type of a value has the value's operation on two operands.
func (x *Value) arithmetic() bool {
	switch x.Op {
	case Add, Sub, Mul, Div:
		return x.Type.Number()
	case Min, Max:
		return x.Type.Integer() || x.Type.Float()
	case Within, UpTo:
		return x.Type.Kind == Int
	}
	return x.Type.Integer()
}

func (x *Value) verifyAtomic() {
	want, ok := Atomics[x.Of]
	must(ok && len(x.Args) == want && x.Place != nil && (x.Place.Space() == Shared || x.Place.Space() == Global), "atomic: %s with %d operands, or in private memory", x.Of, len(x.Args))
	for _, a := range x.Args {
		must(a.Type.Same(x.Type) && x.Type.Same(x.Place.Type) && (x.Type.Integer() || x.Type.Float()), "atomic: a %s into a %s", a.Type, x.Place.Type)
	}
}

func (x *Value) verifyGo() {
	params, result, ok := Signature(x.Of)
	must(ok, "go: there is no function %s", x.Of)
	must(len(params) == len(x.Args) && x.Type.Same(result), "go: %s with %d operands and the result %s", x.Of, len(x.Args), x.Type)
	for i, p := range params {
		must(p.Same(x.Args[i].Type), "go: a %s for a parameter of %s, which is a %s", x.Args[i].Type, x.Of, p)
	}
}

func (x *Value) verifyComposite() {
	must(x.Type.Kind == Struct || x.Type.Kind == Array, "composite: of type %s", x.Type)
	must(len(x.Which) == len(x.Args), "composite: %d operands for %d parts", len(x.Args), len(x.Which))
	for i, f := range x.Which {
		t := x.Type.Inner(f)
		must(t != nil && f >= 0 && (x.Type.Kind == Struct || int64(f) < x.Type.Len), "composite: a %s has no part %d", x.Type, f)
		must(t.Same(x.Args[i].Type), "composite: a %s for a part of type %s", x.Args[i].Type, t)
	}
}

func (x *Value) verifyExtract(of *Type) {
	if of.Kind == Array {
		must(len(x.Args) == 2 && x.Args[1].Type.Integer() && x.Type.Same(of.Elem), "extract: a %s of a %s without an index", x.Type, of)
		return
	}
	must(len(x.Args) == 1 && len(x.Which) == 1, "extract: of a %s", of)
	t := of.Inner(x.Which[0])
	must(t != nil && x.Type.Same(t), "extract: a %s has no such field of type %s", of, x.Type)
}
