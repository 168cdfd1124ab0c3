package build

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/go-halyard/halyard/internal/translate/facts"
	"github.com/go-halyard/halyard/internal/translate/ir"
)

// partOf returns the first elements of a place.
func (f *operations) partOf(of *ir.Place, n *ir.Value) *part {
	return &part{of: of, from: f.Int(ir.Basic(ir.Int), 0), len: n, cap: n}
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
			return f.partOf(v.local.At(), f.Int(ir.Basic(ir.Int), v.local.Type.Len))
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
	end, most := f.Again(x.len), f.Again(x.cap)
	if e.Max != nil {
		most = f.upTo(e.Max, most)
	}
	if e.High != nil {
		end = f.upTo(e.High, most)
	}
	if e.Low == nil {
		return &part{of: x.of, from: x.from, len: end, cap: most}
	}
	low := f.upTo(e.Low, end)
	return &part{of: x.of, from: f.sum(ir.Add, x.from, low), len: f.sum(ir.Sub, end, low), cap: f.sum(ir.Sub, most, low)}
}

// slicedOf returns the operand of a slice expression as a part: all elements of the slice, of the array, or of the array that the pointer points to.
func (f *values) slicedOf(e ast.Expr) *part {
	t := f.typeOf(e)
	at := f.place
	switch t.Underlying().(type) {
	case *types.Array:
	case *types.Pointer: // to an array: Go slices no other pointer
		at = f.pointee
	default:
		return f.slice(e)
	}
	return f.partOf(f.Frozen(at(e)), f.Int(ir.Basic(ir.Int), arrayLen(t)))
}

// upTo returns the value of a bound of a slice expression, with a check that it is at most the value most.
func (f *values) upTo(e ast.Expr, most *ir.Value) *ir.Value {
	v := f.asInt(f.index(e))
	n, m, ok := constants(v, most)
	if ok && n >= 0 && n <= m || isNumber(v, 0) {
		return v
	}
	limited := f.Value(ir.UpTo, v.Type, v, f.Again(most))
	limited.Pos = e.Pos()
	return f.Let(limited)
}

// sum returns x + y or x - y.
func (f *operations) sum(op ir.Op, x, y *ir.Value) *ir.Value {
	n, m, ok := constants(x, y)
	switch {
	case isNumber(y, 0):
		return x
	case isNumber(x, 0) && op == ir.Add:
		return y
	case ok && op == ir.Add:
		return f.Int(x.Type, n+m)
	case ok:
		return f.Int(x.Type, n-m)
	}
	return f.Let(f.Value(op, x.Type, f.Again(x), f.Again(y)))
}

// constants returns two numbers if both values are constants.
func constants(x, y *ir.Value) (n, m int64, ok bool) {
	n, ok = facts.Constant(x)
	m, ok2 := facts.Constant(y)
	return n, m, ok && ok2
}

// isNumber reports whether a value is a constant number.
func isNumber(v *ir.Value, n int64) bool {
	m, ok := facts.Constant(v)
	return ok && m == n
}

// elementAt returns an element of a part. The index is known to be less than the length if sure is set.
func (f *operations) elementAt(p *part, index *ir.Value, at token.Pos, sure bool) *ir.Place {
	if !p.parameter {
		n, m, ok := constants(index, p.len)
		whole := isNumber(p.from, 0) && p.of.Type.Kind == ir.Array && isNumber(p.len, p.of.Type.Len) // the index of the array is checked
		if !sure && !whole && !(ok && n >= 0 && n < m) {
			index = f.Value(ir.Within, ir.Basic(ir.Int), f.asInt(index), f.Again(p.len))
			index.Pos = at
		}
		if !isNumber(p.from, 0) {
			index = f.Value(ir.Add, ir.Basic(ir.Int), f.Again(p.from), index)
		}
	}
	place := f.AgainAt(p.of).Part(0, index, nil)
	place.Path[len(place.Path)-1].Pos = at
	return place
}

// passPart returns the values that pass a part to a function, and their form.
func (f *operations) passPart(p *part, pos token.Pos) ([]*ir.Value, form) {
	if p.parameter {
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
	return []*ir.Value{base, f.Again(p.from), f.Again(p.len), f.Again(p.cap)}, how
}

// addressOf returns a pointer to a place, which is an argument of a call.
func (f *operations) addressOf(at *ir.Place, pos token.Pos) *ir.Value {
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
	n := f.least(f.Again(dst.len), f.Again(src.len))
	one := func(i *ir.Value) {
		f.Store(f.elementAt(dst, i, e.Pos(), true), f.read(ref{place: f.elementAt(src, f.Again(i), e.Pos(), true)}, e.Args[1].Pos()))
	}
	upwards := func() { f.rounds(f.Int(n.Type, 0), f.Again(n), ir.Lt, 1, one) }
	if isNumber(dst.from, 0) || !f.overlap(dst.of, src.of) {
		upwards()
		return n
	}
	s := f.Stmt(ir.If)
	s.Value = f.Value(ir.Gt, ir.Basic(ir.Bool), f.Again(dst.from), f.Again(src.from))
	s.Then = f.In(func() {
		f.rounds(f.Value(ir.Sub, n.Type, f.Again(n), f.Int(n.Type, 1)), f.Int(n.Type, 0), ir.Ge, -1, one)
	})
	s.Else = f.In(upwards)
	return n
}

// least returns the smaller of two lengths.
func (f *operations) least(x, y *ir.Value) *ir.Value {
	if n, m, ok := constants(x, y); ok {
		return f.Int(x.Type, min(n, m))
	}
	return f.Let(f.Value(ir.Min, x.Type, x, y))
}

// overlap reports whether two places whose parts are taken may be the same memory. Two parameters of a function may be the same.
func (f *operations) overlap(a, b *ir.Place) bool {
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
	f.rounds(f.Int(ir.Basic(ir.Int), 0), f.Again(p.len), ir.Lt, 1, func(i *ir.Value) {
		at := f.elementAt(p, i, e.Pos(), true)
		f.Store(at, f.Zero(at.Type))
	})
}

// rounds builds a loop that counts.
func (f *operations) rounds(from, end *ir.Value, op ir.Op, by int64, body func(i *ir.Value)) {
	s := f.Stmt(ir.Loop)
	i := f.Value(ir.Counter, from.Type)
	i.Name, i.Bound = "k", true
	s.Count = &ir.Count{Index: i, From: from, End: end, Op: op, By: by}
	s.Then = f.In(func() { body(i) })
}
