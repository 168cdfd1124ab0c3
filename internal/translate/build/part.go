package build

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// part is what a slice consists of: elements of a place, which is a slice parameter or an array. If it is all elements of a slice parameter, the other fields
// are nil. The values are bound, or of an operation that has no operands.
type part struct {
	of       *ir.Place
	from     *ir.Value // the index in the place at which the part begins; nil for 0
	len, cap *ir.Value
}

// form is how an argument that refers to memory is passed to a function. A function is built for each form.
type form struct {
	space ir.Space // of what a pointer points to, or of an array
	part  bool     // a slice is passed as what a part consists of
	array *ir.Type // the array of that part; nil if it is a part of a slice
}

func (a form) same(b form) bool {
	return a.space == b.space && a.part == b.part && (a.array == nil) == (b.array == nil) && (a.array == nil || a.array.Same(b.array))
}

func (r *reader) isSlice(e ast.Expr) bool {
	_, ok := r.typeOf(e).Underlying().(*types.Slice)
	return ok
}

// slice returns the part that an expression of a slice type means.
func (f *values) slice(e ast.Expr) *part {
	switch x := ast.Unparen(e).(type) {
	case *ast.Ident:
		switch v := f.variable(x); v.kind {
		case slice:
			return v.part
		case list:
			return &part{of: v.local.At(), len: f.Int(ir.Basic(ir.Int), v.local.Type.Len)}
		}
	case *ast.SliceExpr:
		return f.sliced(x)
	case *ast.CompositeLit:
		refuse(e.Pos(), "a slice that a kernel makes has no translation; use an array of fixed size")
	case *ast.CallExpr:
		if f.info().Types[x.Fun].IsType() && f.isSlice(x.Args[0]) {
			return f.slice(x.Args[0])
		}
		f.call(x)
	}
	refuseAs(e.Pos(), f.typeOf(e))
	return nil
}

// sliced returns the part that x[i:j] or x[i:j:k] means.
func (f *values) sliced(e *ast.SliceExpr) *part {
	x := f.slicedOf(e.X)
	n, most := f.lengthOf(x), f.capacityOf(x)
	if e.Max != nil {
		most = f.upTo(e.Max, most)
	}
	end := n
	if e.High != nil {
		end = f.upTo(e.High, most)
	} else if e.Max != nil {
		end = most
	}
	if e.Low == nil {
		return &part{of: x.of, from: x.from, len: end, cap: most}
	}
	low := f.upTo(e.Low, end)
	return &part{of: x.of, from: f.sum(ir.Add, x.from, low), len: f.sum(ir.Sub, end, low), cap: f.sum(ir.Sub, most, low)}
}

// slicedOf returns all elements of the slice, the array or the array behind a pointer of which an expression takes a part.
func (f *values) slicedOf(e ast.Expr) *part {
	var array *ir.Place
	t := f.typeOf(e)
	switch u := t.Underlying().(type) {
	case *types.Slice:
		return f.slice(e)
	case *types.Array:
		array = f.place(e)
	case *types.Pointer:
		if _, ok := u.Elem().Underlying().(*types.Array); ok {
			array = f.pointee(e)
		}
	}
	if array == nil {
		refuseAs(e.Pos(), t)
	}
	n := f.Int(ir.Basic(ir.Int), arrayLen(t))
	return &part{of: f.Frozen(array), len: n, cap: n}
}

// upTo returns the value of a bound of a part, which is at most a number.
func (f *values) upTo(e ast.Expr, most *ir.Value) *ir.Value {
	v := f.asInt(f.index(e))
	n, ok := facts.Constant(v)
	m, ok2 := facts.Constant(most)
	if ok && n == 0 || ok && ok2 && n >= 0 && n <= m {
		return v
	}
	limited := f.Value(ir.UpTo, v.Type, v, f.Again(most))
	limited.Pos = e.Pos()
	return f.Let(limited)
}

// sum returns x + y or x - y. A value that is nil is 0.
func (f *values) sum(op ir.Op, x, y *ir.Value) *ir.Value {
	n, ok := facts.Constant(y)
	m, ok2 := facts.Constant(x)
	switch {
	case ok && n == 0:
		return x
	case x == nil:
		return y
	case ok && ok2 && op == ir.Add:
		return f.Int(x.Type, m+n)
	case ok && ok2:
		return f.Int(x.Type, m-n)
	}
	return f.Let(f.Value(op, x.Type, f.Again(x), f.Again(y)))
}

// lengthOf returns the length of a part.
func (f *values) lengthOf(p *part) *ir.Value {
	if p.len == nil {
		return f.Extent(ir.Len, p.of.Param)
	}
	return f.Again(p.len)
}

// capacityOf returns the capacity of a part. That of a parameter is its length, as a launch does not pass more.
func (f *values) capacityOf(p *part) *ir.Value {
	if p.cap == nil {
		return f.lengthOf(p)
	}
	return f.Again(p.cap)
}

// elementAt returns an element of a part. The index is known to be less than the length if sure is set.
func (f *values) elementAt(p *part, index *ir.Value, at token.Pos, sure bool) *ir.Place {
	if p.len != nil {
		n, ok := facts.Constant(index)
		m, ok2 := facts.Constant(p.len)
		whole := ok2 && p.from == nil && p.of.Type.Kind == ir.Array && m == p.of.Type.Len // the index of the array is checked
		if !sure && !whole && !(ok && ok2 && n >= 0 && n < m) {
			index = f.Value(ir.Within, ir.Basic(ir.Int), f.asInt(index), f.lengthOf(p))
			index.Pos = at
		}
		if p.from != nil {
			index = f.Value(ir.Add, ir.Basic(ir.Int), f.Again(p.from), index)
		}
	}
	place := f.AgainAt(p.of).Part(0, index, nil)
	place.Path[len(place.Path)-1].Pos = at
	return place
}

// passPart returns the values that pass a part to a function, and their form.
func (f *values) passPart(p *part, pos token.Pos) ([]*ir.Value, form) {
	if p.len == nil {
		return []*ir.Value{f.Argument(p.of.Param)}, form{}
	}
	var base *ir.Value
	how := form{part: true, space: p.of.Space()}
	if p.of.Type.Kind == ir.Slice {
		base = f.Argument(p.of.Param)
	} else {
		how.array = p.of.Type
		base = f.addressOf(f.AgainAt(p.of), pos)
	}
	from := f.Int(ir.Basic(ir.Int), 0)
	if p.from != nil {
		from = f.Again(p.from)
	}
	return []*ir.Value{base, from, f.lengthOf(p), f.capacityOf(p)}, how
}

// addressOf returns a pointer to a place, which is an argument of a call.
func (f *values) addressOf(at *ir.Place, pos token.Pos) *ir.Value {
	v := f.Value(ir.Address, &ir.Type{Kind: ir.Pointer, Elem: at.Type, Space: at.Space()})
	v.Place, v.Pos = at, pos
	return v
}

// partParameter declares the parameters that pass a part in a form. The parameter m has the name and the type of the Go parameter.
func (f *function) partParameter(m *ir.Param, how form) *part {
	if how.array != nil {
		m.Type = &ir.Type{Kind: ir.Pointer, Elem: how.array, Space: how.space}
	}
	f.made.Params = append(f.made.Params, m)
	number := func(what string) *ir.Value {
		n := &ir.Param{Name: m.Name + what, Type: ir.Basic(ir.Int), Index: len(f.made.Params), Pos: m.Pos}
		f.made.Params = append(f.made.Params, n)
		return f.Argument(n)
	}
	return &part{of: m.At(), from: number("_from"), len: number("_len"), cap: number("_cap")}
}

// assignPart declares a variable that is a part. It reports whether the right side is a slice.
func (f *function) assignPart(l, r ast.Expr) bool {
	if !f.isSlice(r) {
		return false
	}
	id, _ := l.(*ast.Ident)
	obj := f.info().Defs[id]
	p := f.slice(r)
	switch {
	case blank(l):
	case obj == nil || f.changes[obj] > 0:
		refuse(l.Pos(), "a variable that is a slice cannot change, and a slice cannot be a part of another value; "+
			"declare a variable for each slice, as in y := x[i:j], and do not assign to it again")
	default:
		f.vars[obj] = &variable{kind: slice, typ: f.substitute(obj.Type()), part: p}
	}
	return true
}

// copied builds copy(dst, src), and returns how many elements are copied. Elements that are in both are read before they are written.
func (f *values) copied(e *ast.CallExpr) *ir.Value {
	for _, x := range e.Args {
		if !f.isSlice(x) {
			refuse(x.Pos(), "copy has a translation for slices only; use slices of numbers")
		}
	}
	dst, src := f.slice(e.Args[0]), f.slice(e.Args[1])
	n := f.least(f.lengthOf(dst), f.lengthOf(src))
	one := func(i *ir.Value) {
		f.Store(f.elementAt(dst, i, e.Pos(), true), f.read(ref{place: f.elementAt(src, f.Again(i), e.Pos(), true)}, e.Args[1].Pos()))
	}
	upwards := func() { f.rounds(f.Int(n.Type, 0), f.Again(n), ir.Lt, 1, one) }
	if dst.from == nil || !f.overlap(dst.of, src.of) {
		upwards()
		return n
	}
	from := f.Int(n.Type, 0)
	if src.from != nil {
		from = f.Again(src.from)
	}
	s := f.Stmt(ir.If)
	s.Value = f.Value(ir.Gt, ir.Basic(ir.Bool), f.Again(dst.from), from)
	s.Then = f.In(func() {
		f.rounds(f.Value(ir.Sub, n.Type, f.Again(n), f.Int(n.Type, 1)), f.Int(n.Type, 0), ir.Ge, -1, one)
	})
	s.Else = f.In(upwards)
	return n
}

// least returns the smaller of two lengths.
func (f *values) least(x, y *ir.Value) *ir.Value {
	n, ok := facts.Constant(x)
	m, ok2 := facts.Constant(y)
	if ok && ok2 {
		return f.Int(x.Type, min(n, m))
	}
	return f.Let(f.Value(ir.Min, x.Type, x, y))
}

// overlap reports whether two places, of which parts are taken, may be the same memory. Two parameters of a function may be the same.
func (f *values) overlap(a, b *ir.Place) bool {
	if a.Local != nil || b.Local != nil {
		return a.Local == b.Local
	}
	return a.Space() == b.Space() && (a.Param == b.Param || !f.kernel)
}

// cleared builds clear(x).
func (f *values) cleared(e *ast.CallExpr) {
	if !f.isSlice(e.Args[0]) {
		refuseAs(e.Args[0].Pos(), f.typeOf(e.Args[0]))
	}
	p := f.slice(e.Args[0])
	f.rounds(f.Int(ir.Basic(ir.Int), 0), f.lengthOf(p), ir.Lt, 1, func(i *ir.Value) {
		at := f.elementAt(p, i, e.Pos(), true)
		f.Store(at, f.Zero(at.Type))
	})
}

// rounds builds a loop that counts.
func (f *values) rounds(from, end *ir.Value, op ir.Op, by int64, body func(i *ir.Value)) {
	s := f.Stmt(ir.Loop)
	i := f.Value(ir.Counter, from.Type)
	i.Name, i.Bound = "k", true
	s.Count = &ir.Count{Index: i, From: from, End: end, Op: op, By: by}
	s.Then = f.In(func() { body(i) })
}
