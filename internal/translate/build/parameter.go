package build

import (
	"go/token"
	"go/types"
	"strings"

	"github.com/go-halyard/halyard/internal/translate/ir"
	"github.com/go-halyard/halyard/internal/translate/load"
)

// parameter declares a parameter. A grid.Thread has no parameter in the representation.
func (f *function) parameter(v *types.Var, i int) {
	t := f.substitute(v.Type())
	w := &variable{typ: t}
	m := &ir.Param{Name: v.Name(), Index: len(f.made.Params), Out: load.GridType(t, "Out") || load.GridType(t, "OutMatrix"), Pos: v.Pos()}
	_, predeclared := types.Unalias(t).(*types.Basic)
	m.Declared = !predeclared
	switch u := t.Underlying().(type) {
	case *types.Slice:
		w.kind = slice
		if _, inner := u.Elem().Underlying().(*types.Slice); inner {
			refuseAs(v.Pos(), t)
		}
		if i < len(f.forms) && f.forms[i].array != nil {
			break
		}
		m.Type = &ir.Type{Kind: ir.Slice, Elem: f.element(u.Elem(), v.Pos()), Space: ir.Global}
	case *types.Pointer:
		w.kind = pointer
		if f.kernel {
			refuse(v.Pos(), "a kernel cannot have a pointer parameter; use a slice, which may have one element")
		}
		m.Type = &ir.Type{Kind: ir.Pointer, Elem: f.p.typ(u.Elem(), v.Pos())}
		if i < len(f.forms) {
			m.Type.Space = f.forms[i].space
		}
	default:
		switch of := load.MatrixOf(t); {
		case load.GridType(t, "Thread"):
			w.kind = thread
		case of != nil:
			w.kind = matrix
			m.Type = &ir.Type{Kind: ir.Matrix, Elem: f.element(of, v.Pos()), Space: ir.Global}
		default:
			m.Type = f.p.typ(t, v.Pos())
		}
	}
	if f.kernel {
		f.kernelParameter(v, w, i == 0)
	}
	f.vars[v] = w
	if w.kind == thread {
		return
	}
	w.param = m
	if i < len(f.forms) && f.forms[i].part {
		w.part = f.partParameter(m, f.forms[i])
		return
	}
	f.made.Params = append(f.made.Params, m)
	if w.kind == slice {
		w.part = f.partOf(m.At(), f.Extent(ir.Len, m))
		w.part.parameter = true
	}
	if w.kind == value && f.changes[v] > 0 { // the function assigns to the parameter, so it becomes a local
		w.local = f.Local(v.Name(), m.Type, ir.Private)
		f.Store(w.local.At(), f.Argument(m))
	}
}

// kernelParameter refuses parameters that a kernel cannot have.
func (f *function) kernelParameter(v *types.Var, w *variable, first bool) {
	if first != (w.kind == thread) {
		refuse(v.Pos(), "a kernel begins with one parameter of type grid.Thread, as in func double(t grid.Thread, x []float32)")
	}
	if w.kind == value {
		f.wire(w.typ, v.Pos(), true)
	}
	f.passed(v, w)
}

// element returns the type of an element, and refuses element types that buffers cannot have.
func (r *reader) element(t types.Type, pos token.Pos) *ir.Type {
	r.buffered(t, types.TypeString(t, types.RelativeTo(r.p.pkg.Types)), pos)
	if r.kernel {
		r.own(t, pos)
	}
	return r.p.typ(t, pos)
}

// buffered refuses parts of an element type that buffers cannot have. The parameter path is the Go expression for the part.
func (r *reader) buffered(t types.Type, path string, pos token.Pos) {
	const only = "an element of a buffer has numbers, bool, and arrays and structures of them only"
	switch u := t.Underlying().(type) {
	case *types.Basic:
		switch {
		case (u.Kind() == types.Int || u.Kind() == types.Uint) && strings.ContainsAny(path, ".["):
			refuse(pos, "%s is an %s, and a buffer's elements have a fixed width; use %[2]s32 or %[2]s64", path, u.Name())
		case u.Kind() == types.Int || u.Kind() == types.Uint:
			refuse(pos, "a buffer's elements have a fixed width; use %s32 or %[1]s64 for %[1]s", u.Name())
		case u.Info()&(types.IsNumeric|types.IsBoolean) == 0 || u.Kind() == types.Uintptr:
			refuse(pos, "%s is a %s; %s", path, u.Name(), only)
		}
	case *types.Array:
		if u.Len() == 0 {
			refuse(pos, noElements)
		}
		r.buffered(u.Elem(), path+"[0]", pos)
	case *types.Struct:
		for v := range u.Fields() {
			r.buffered(v.Type(), path+"."+v.Name(), pos)
		}
	default:
		refuse(pos, "%s is a %s; %s", path, types.TypeString(t, types.RelativeTo(r.p.pkg.Types)), only)
	}
}

// mostPassed is how many bytes of arguments a kernel may have. CUDA passes 4096 bytes, and HALYARD_CHECK=bounds needs 8 of these. If one kernel had more bytes,
// no kernel of the package could be loaded.
const mostPassed = 4096 - 8

// sizes are the sizes of types in Go where an int has 64 bits.
var sizes = types.SizesFor("gc", "amd64")

// passed adds the bytes of an argument to those of the kernel's arguments before it, and refuses an argument that makes them too many.
func (r *reader) passed(v *types.Var, w *variable) {
	n := int64(16) // the address and the length of a slice
	switch w.kind {
	case thread:
		return
	case matrix:
		n = 24
	case value:
		n = sizes.Sizeof(w.typ)
	}
	if n > mostPassed {
		refuse(v.Pos(), "%s has %d bytes, and a kernel's arguments have at most %d in all; pass it in a slice", v.Name(), n, mostPassed)
	}
	if r.bytes += (n + 7) &^ 7; r.bytes > mostPassed {
		refuse(v.Pos(), "the arguments up to %s have %d bytes, and a kernel's arguments have at most %d in all; pass some in a slice", v.Name(), r.bytes, mostPassed)
	}
}

// wire refuses types that a launch cannot pass by value.
func (r *reader) wire(t types.Type, pos token.Pos, whole bool) {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if (u.Kind() == types.Int || u.Kind() == types.Uint) && !whole {
			refuse(pos, "a structure that is passed to a kernel must have fields of fixed width; use int32 or int64")
		}
	case *types.Array:
		if u.Len() == 0 {
			refuse(pos, noElements)
		}
		r.wire(u.Elem(), pos, false)
	case *types.Struct:
		for v := range u.Fields() {
			if v.Name() == "_" {
				refuse(pos, "a structure that is passed to a kernel cannot have a field _; give the field a name")
			}
			r.wire(v.Type(), pos, false)
		}
	}
	r.own(t, pos)
}

// own refuses an unexported type of another package: the generated launch function could not name it.
func (r *reader) own(t types.Type, pos token.Pos) {
	var name *types.TypeName // the name in the source, which may be an alias
	switch t := t.(type) {
	case *types.Alias:
		name = t.Obj()
	case *types.Named:
		name = t.Obj()
	}
	if name != nil && name.Pkg() != r.p.own.Types && name.Pkg() != nil && !name.Exported() {
		refuse(pos, "type %s belongs to another package, which does not export it; declare a type in this package", t)
	}
}
