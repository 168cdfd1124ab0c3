package ir

import "go/token"

// Builder adds statements to a function. The statements and values that it makes get its Pos and Syntax.
type Builder struct {
	F      *Function
	Pos    token.Pos
	Syntax any

	region *Region
}

// NewBuilder returns a builder that adds to the end of a function's body.
func NewBuilder(f *Function) *Builder {
	if f.Body == nil {
		f.Body = &Region{}
	}
	return &Builder{F: f, region: f.Body}
}

// In returns a region of the statements that fn adds.
func (b *Builder) In(fn func()) *Region {
	before := b.region
	r := &Region{}
	b.region = r
	defer func() { b.region = before }()
	fn()
	return r
}

// Append adds the statements of a region.
func (b *Builder) Append(r *Region) { b.region.List = append(b.region.List, r.List...) }

// Local adds a variable to the function.
func (b *Builder) Local(name string, t *Type, space Space) *Local {
	l := &Local{Name: name, Type: t, Space: space, Index: len(b.F.Locals), Pos: b.Pos}
	b.F.Locals = append(b.F.Locals, l)
	return l
}

// Value returns a new value.
func (b *Builder) Value(op Op, t *Type, args ...*Value) *Value {
	v := &Value{ID: b.F.values, Op: op, Type: t, Args: args, Pos: b.Pos}
	b.F.values++
	return v
}

// Const returns a constant of a type. The type says which Go type x must have: bool, int64, uint64, float64 or complex128.
func (b *Builder) Const(t *Type, x any) *Value {
	v := b.Value(Const, t)
	v.Const = x
	return v
}

// Int returns a constant of a type of numbers.
func (b *Builder) Int(t *Type, x int64) *Value {
	switch {
	case t.Float():
		return b.Const(t, float64(x))
	case t.Complex():
		return b.Const(t, complex(float64(x), 0))
	case t.Signed():
		return b.Const(t, x)
	}
	return b.Const(t, uint64(x))
}

// Zero returns the zero value of a type.
func (b *Builder) Zero(t *Type) *Value {
	switch {
	case t.Kind == Bool:
		return b.Const(t, false)
	case t.Number():
		return b.Int(t, 0)
	}
	return b.Value(Composite, t)
}

// Again returns a value that can be used in another statement. If v is bound, Again returns v itself. Otherwise it returns a copy of v, which must have no
// operands.
func (b *Builder) Again(v *Value) *Value {
	if v.Bound {
		return v
	}
	c := *v
	c.ID = b.F.values
	b.F.values++
	return &c
}

// Frozen returns a place whose indexes are evaluated now, so that later statements do not change them.
func (b *Builder) Frozen(p *Place) *Place {
	return p.mapped(func(v *Value) *Value {
		if v.Op <= AllBlocks { // constants, arguments, counters, lengths and the thread's place do not change
			return v
		}
		return b.Let(v)
	})
}

// AgainAt returns a copy of a place that Frozen returned, to use it in another statement.
func (b *Builder) AgainAt(p *Place) *Place { return p.mapped(b.Again) }

// mapped returns a copy of a place in which index(v) replaces each index v.
func (p *Place) mapped(index func(*Value) *Value) *Place {
	q := *p
	q.Path = nil
	for _, s := range p.Path {
		if s.Index != nil {
			s.Index = index(s.Index)
		}
		if s.Col != nil {
			s.Col = index(s.Col)
		}
		q.Path = append(q.Path, s)
	}
	return &q
}

// Argument returns the value of a parameter.
func (b *Builder) Argument(p *Param) *Value {
	v := b.Value(Argument, p.Type)
	v.Param = p
	return v
}

// Extent returns the length of a slice, or the rows or columns of a matrix.
func (b *Builder) Extent(op Op, p *Param) *Value {
	v := b.Value(op, Basic(Int))
	v.Param = p
	return v
}

// Load returns a value that reads a place.
func (b *Builder) Load(p *Place) *Value {
	v := b.Value(Load, p.Type)
	v.Place = p
	return v
}

// Extract returns a part of a value: an element if index is not nil, and otherwise a field.
func (b *Builder) Extract(of *Value, field int, index *Value) *Value {
	v := b.Value(Extract, of.Type.Inner(field), of)
	if index != nil {
		v.Args = append(v.Args, index)
	} else {
		v.Which = []int{field}
	}
	return v
}

// Stmt adds a statement.
func (b *Builder) Stmt(do Action) *Stmt {
	s := &Stmt{Do: do, Pos: b.Pos, Syntax: b.Syntax}
	b.region.List = append(b.region.List, s)
	return s
}

// Let adds a statement that evaluates a value, and returns the value. If the value is bound already, Let adds nothing.
func (b *Builder) Let(v *Value) *Value {
	if v.Bound {
		return v
	}
	v.Bound = true
	b.Stmt(Let).Value = v
	return v
}

// Store adds a statement that stores a value.
func (b *Builder) Store(to *Place, v *Value) {
	s := b.Stmt(Store)
	s.Place, s.Value = to, v
}

// Part returns a part of a place: a cell of a matrix if col is not nil, otherwise an element if index is not nil, and otherwise a field.
func (p *Place) Part(field int, index, col *Value) *Place {
	q := *p
	q.Path = append(p.Path[:len(p.Path):len(p.Path)], Part{Field: field, Index: index, Col: col})
	q.Type = q.Path[len(p.Path)].within(p.Type)
	return &q
}

// At returns the place of a local.
func (l *Local) At() *Place { return &Place{Local: l, Type: l.Type} }

// At returns the place that a pointer points to. For a slice or a matrix it returns the place of all elements, of which [Place.Part] selects one.
func (p *Param) At() *Place {
	at := &Place{Param: p}
	at.Type = at.root()
	return at
}
