package build

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/go-halyard/halyard/internal/translate/ir"
	"github.com/go-halyard/halyard/internal/translate/load"
)

// ref is what an expression refers to: a place, or a value that is not at a place.
type ref struct {
	place *ir.Place
	value *ir.Value
}

// part returns a part of what r refers to: an element if index is not nil, and otherwise a field.
func (f *operations) part(r ref, field int, index *ir.Value) ref {
	if r.place != nil {
		return ref{place: r.place.Part(field, index, nil)}
	}
	return ref{value: f.Extract(r.value, field, index)}
}

// read returns the value of what r refers to.
func (f *operations) read(r ref, pos token.Pos) *ir.Value {
	if r.place == nil {
		return r.value
	}
	readable(r.place.Param, pos)
	v := f.Load(r.place)
	v.Pos = pos
	return v
}

// readable refuses to read a grid.Out.
func readable(m *ir.Param, pos token.Pos) {
	if m != nil && m.Out {
		refuse(pos, "%s is a grid.Out, which a kernel can write but not read; make it a []T to read it", m.Name)
	}
}

// place returns the place of an expression. A value that is not at a place is stored in a new local.
func (f *values) place(e ast.Expr) *ir.Place { return f.placed(f.ref(e)) }

func (f *operations) placed(r ref) *ir.Place {
	if r.place == nil {
		l := f.Local("", r.value.Type, ir.Private)
		f.Store(l.At(), r.value)
		r.place = l.At()
	}
	return r.place
}

// ref returns what an expression refers to.
func (f *values) ref(e ast.Expr) ref {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return f.ref(e.X)
	case *ast.Ident:
		v := f.variable(e)
		switch {
		case v.kind != value:
			refuse(e.Pos(), "%s", f.onlyParameter(v))
		case v.local != nil:
			return ref{place: v.local.At()}
		case v.is != nil:
			return ref{value: v.is}
		}
		return ref{value: f.Argument(v.param)}
	case *ast.IndexExpr:
		return f.indexed(e)
	case *ast.SelectorExpr:
		s := f.info().Selections[e]
		if s == nil {
			refuse(e.Pos(), "a variable of another package has no translation; pass it as a parameter")
		}
		if s.Kind() != types.FieldVal {
			refuse(e.Pos(), "a method value has no translation; call the method")
		}
		r, _ := f.fields(e.X, s.Index())
		return r
	case *ast.StarExpr:
		return ref{place: f.pointee(e.X)}
	}
	f.p.typ(f.typeOf(e), e.Pos())
	return ref{value: f.expr(e)}
}

// indexed returns the element that an index expression refers to.
func (f *values) indexed(e *ast.IndexExpr) ref {
	if f.isFunction(e) {
		refuse(e.Pos(), "a function value has no translation; call the function")
	}
	t := f.typeOf(e.X)
	var r ref
	switch u := t.Underlying().(type) {
	case *types.Slice:
		p := f.slice(e.X)
		return ref{place: f.elementAt(p, f.index(e.Index), e.Index.Pos(), false)}
	case *types.Array:
		r = f.ref(e.X)
	case *types.Pointer:
		if _, ok := u.Elem().Underlying().(*types.Array); !ok {
			refuseAs(e.Pos(), u)
		}
		r.place = f.pointee(e.X)
	default:
		refuseAs(e.Pos(), u)
	}
	index := f.index(e.Index)
	if arrayLen(t) == 0 { // in the representation it has an element
		index = f.Value(ir.Within, ir.Basic(ir.Int), f.asInt(index), f.Int(ir.Basic(ir.Int), 0))
		index.Pos = e.Index.Pos()
	}
	r = f.part(r, 0, index)
	if r.place != nil {
		r.place.Path[len(r.place.Path)-1].Pos = e.Index.Pos()
	}
	return r
}

// arrayLen returns the length of an array, or of the array that a pointer points to. For another type it returns -1.
func arrayLen(t types.Type) int64 {
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	if a, ok := t.Underlying().(*types.Array); ok {
		return a.Len()
	}
	return -1
}

// asInt returns the value of an index as an int.
func (f *operations) asInt(index *ir.Value) *ir.Value {
	if index.Type.Kind == ir.Int {
		return index
	}
	return f.Value(ir.Convert, ir.Basic(ir.Int), index)
}

// index returns the value of an index. A constant index becomes an int.
func (f *values) index(e ast.Expr) *ir.Value {
	if f.info().Types[e].Value != nil {
		return f.exprAs(e, types.Typ[types.Int])
	}
	f.integer(e)
	return f.expr(e)
}

// fields returns a field of x, and the field's type. The slice path has the indexes of the fields from x to that field.
func (f *values) fields(x ast.Expr, path []int) (ref, types.Type) {
	t := f.typeOf(x)
	var r ref
	if p, ok := t.Underlying().(*types.Pointer); ok {
		r.place, t = f.pointee(x), p.Elem()
	} else {
		r = f.ref(x)
	}
	for _, i := range path {
		s, ok := t.Underlying().(*types.Struct)
		if !ok {
			refuseAs(x.Pos(), t)
		}
		f.p.typ(t, x.Pos())
		r, t = f.part(r, i, nil), s.Field(i).Type()
	}
	return r, t
}

// pointee returns the place that a pointer points to.
func (f *values) pointee(e ast.Expr) *ir.Place {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		switch v := f.variable(e); v.kind {
		case pointer:
			return v.param.At()
		case shared:
			return v.local.At()
		case chosen:
			return v.tables.At().Part(0, f.Load(v.local.At()), nil)
		}
	case *ast.UnaryExpr:
		if e.Op == token.AND {
			if _, ok := ast.Unparen(e.X).(*ast.CompositeLit); ok {
				refuse(e.Pos(), "a pointer to a new value has no translation; declare a variable, and pass its address")
			}
			return f.place(e.X)
		}
	case *ast.CallExpr:
		if v, ok := f.refOf(e); ok {
			return f.cell(v, e)
		}
		f.refuseShared(e)
	}
	refuseAs(e.Pos(), f.typeOf(e))
	return nil
}

// cell returns the place of a matrix element. The first two arguments of the call e are its row and column.
func (f *values) cell(v *variable, e *ast.CallExpr) *ir.Place {
	row, col := f.exprAs(e.Args[0], types.Typ[types.Int]), f.exprAs(e.Args[1], types.Typ[types.Int])
	at := v.param.At().Part(0, row, col)
	at.Path[0].Pos = e.Args[0].Pos()
	return at
}

// matrixCall builds a call of a method of a matrix, except Ref.
func (f *values) matrixCall(e *ast.CallExpr, method string, recv ast.Expr) *ir.Value {
	v := f.matrix(recv)
	switch method {
	case "Rows":
		return f.Extent(ir.Rows, v.param)
	case "Cols":
		return f.Extent(ir.Cols, v.param)
	case "At":
		return f.read(ref{place: f.cell(v, e)}, e.Pos())
	case "Set":
		at := f.cell(v, e)
		f.Store(at, f.exprAs(e.Args[2], load.MatrixOf(v.typ)))
		return nil
	case "Ref":
		refuse(e.Pos(), "a pointer has no translation as a value; write *m.Ref(i, j), or m.Ref(i, j) where a field, a method or an argument is meant")
	}
	refuse(e.Pos(), "method %s of grid.Matrix has no translation", method)
	return nil
}

// declare adds a variable with a first value, which is passed as is.
func (f *function) declare(obj types.Object, t types.Type, is *ir.Value) *variable {
	v := &variable{typ: t}
	f.vars[obj] = v
	switch {
	case f.changes[obj] > 0:
		v.local = f.Local(obj.Name(), f.p.typ(t, obj.Pos()), ir.Private)
		f.Store(v.local.At(), is)
	case is.Bound: // a call's result, or another variable
		if is.Name == "" {
			is.Name = obj.Name()
		}
		v.is = is
	default:
		is.Name = obj.Name()
		v.is = f.Let(is)
	}
	return v
}
