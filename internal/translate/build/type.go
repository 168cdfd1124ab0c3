package build

import (
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
	"math"
	"strings"
	"unicode"

	"github.com/go-halyard/halyard/internal/translate/ir"
	"github.com/go-halyard/halyard/internal/translate/load"
)

var basics = map[types.BasicKind]ir.Kind{
	types.Bool: ir.Bool, types.UntypedBool: ir.Bool, types.Int: ir.Int, types.Int8: ir.I8, types.Int16: ir.I16, types.Int32: ir.I32, types.Int64: ir.I64,
	types.Uint: ir.Uint, types.Uint8: ir.U8, types.Uint16: ir.U16, types.Uint32: ir.U32, types.Uint64: ir.U64, types.Float32: ir.F32, types.Float64: ir.F64,
	types.UntypedInt: ir.Int, types.UntypedRune: ir.I32, types.UntypedFloat: ir.F64,
	types.Complex64: ir.C64, types.Complex128: ir.C128, types.UntypedComplex: ir.C128,
}

// basic returns the type of a number or a bool, or nil.
func basic(t types.Type) *ir.Type {
	if b, ok := t.Underlying().(*types.Basic); ok {
		if k, ok := basics[b.Kind()]; ok {
			return ir.Basic(k)
		}
	}
	return nil
}

// maxNesting limits the nesting of types. In a program with errors, the nesting could be endless.
const maxNesting = 32

// typ returns the type that represents a Go type of values.
func (p *program) typ(t types.Type, pos token.Pos) *ir.Type { return p.typeAt(t, pos, 0) }

func (p *program) typeAt(t types.Type, pos token.Pos, depth int) *ir.Type {
	if depth > maxNesting {
		refuse(pos, "type %s is nested more than %d levels deep; use fewer levels", t, maxNesting)
	}
	t = types.Unalias(t)
	if b := basic(t); b != nil {
		return b
	}
	if load.MatrixOf(t) != nil {
		refuse(pos, "%s", onlyMatrix)
	}
	if made := p.types[t]; made != nil {
		return made
	}
	made := &ir.Type{}
	switch u := t.Underlying().(type) {
	case *types.Array:
		if u.Len() > 1<<28 {
			refuse(pos, "an array of %d elements is too large for a thread; use a buffer", u.Len())
		}
		made.Kind, made.Len, made.Elem = ir.Array, max(u.Len(), 1), p.typeAt(u.Elem(), pos, depth+1) // C and SPIR-V have no array without elements
	case *types.Struct:
		if u.NumFields() == 0 {
			refuse(pos, "a structure without fields has no translation; remove it")
		}
		made.Kind = ir.Struct
		if n, ok := t.(*types.Named); ok {
			made.Name = n.Obj().Name()
		}
		for f := range u.Fields() {
			made.Fields = append(made.Fields, ir.Field{Name: f.Name(), Type: p.typeAt(f.Type(), pos, depth+1)})
		}
	default:
		refuseAs(pos, t)
	}
	p.types[t] = made
	return made
}

const noElements = "an array without elements has no translation in a buffer or as an argument of a launch; remove it"

const onlyMatrix = "a grid.Matrix can only be a parameter; call its methods, or pass it on"

// substitute replaces type parameters by their arguments. If a type is declared in a generic function and depends on the function's type parameters, it becomes
// its underlying type. Nothing is lost, because a local type has no methods.
func (r *reader) substitute(t types.Type) types.Type {
	if len(r.args) == 0 || t == nil {
		return t
	}
	switch t := types.Unalias(t).(type) {
	case *types.TypeParam:
		if a, ok := r.args[t]; ok {
			return a
		}
	case *types.Named:
		return r.substituteNamed(t)
	case *types.Array:
		return types.NewArray(r.substitute(t.Elem()), t.Len())
	case *types.Slice:
		return types.NewSlice(r.substitute(t.Elem()))
	case *types.Pointer:
		return types.NewPointer(r.substitute(t.Elem()))
	case *types.Struct:
		var fields []*types.Var
		for v := range t.Fields() {
			fields = append(fields, types.NewField(v.Pos(), v.Pkg(), v.Name(), r.substitute(v.Type()), v.Embedded()))
		}
		return types.NewStruct(fields, nil)
	case *types.Tuple:
		var vars []*types.Var
		for v := range t.Variables() {
			vars = append(vars, types.NewVar(v.Pos(), v.Pkg(), v.Name(), r.substitute(v.Type())))
		}
		return types.NewTuple(vars...)
	}
	return t
}

func (r *reader) substituteNamed(t *types.Named) types.Type {
	if t.TypeArgs().Len() > 0 {
		var args []types.Type
		for a := range t.TypeArgs().Types() {
			args = append(args, r.substitute(a))
		}
		if made, err := types.Instantiate(r.p.context, t.Origin(), args, false); err == nil {
			return made
		}
	}
	if own := t.Obj(); own.Pkg() != nil && own.Parent() != own.Pkg().Scope() && !r.replaced[t] {
		r.replaced[t] = true // a type may contain itself, behind a pointer
		below := r.substitute(t.Underlying())
		delete(r.replaced, t)
		if !types.Identical(below, t.Underlying()) {
			return below
		}
	}
	return t
}

// why returns the message for a type that has no translation. The message says what to write instead.
func why(t types.Type) string {
	switch u := t.Underlying().(type) {
	case *types.Map:
		return "a map has no translation; use a slice, or an array of fixed size"
	case *types.Chan:
		return "a channel has no translation; threads share buffers and grid.Shared memory"
	case *types.Signature:
		return "a function value has no translation; call a declared function"
	case *types.Interface:
		return "an interface has no translation; use a concrete type, or a generic function"
	case *types.Slice:
		if _, ok := u.Elem().Underlying().(*types.Slice); ok {
			return "a slice of slices has no translation; use a grid.Matrix, or one slice and compute the index"
		}
		return "a slice can only be a parameter, or a variable that is declared as a part and does not change, as in y := x[i:j]; use that, or an array of fixed size"
	case *types.Pointer:
		return "a pointer can only be a parameter of a function, or the result of grid.Shared; use the variable that it points to"
	case *types.Basic:
		switch {
		case u.Info()&types.IsString != 0:
			return "a string has no translation; use numbers"
		case u.Kind() == types.Uintptr:
			return "type uintptr has no translation; use an index for an address, and int(unsafe.Sizeof(x)) for a size"
		case u.Kind() == types.UnsafePointer:
			return "an address has no translation; use an index"
		}
	}
	return fmt.Sprintf("type %s has no translation; use numbers of fixed width, and structures and arrays of them", t)
}

// refuseAs refuses an expression or a variable because of its type t.
func refuseAs(pos token.Pos, t types.Type) { refuse(pos, "%s", why(t)) }

// suffix returns the end of the name of the kernel that is built for a list of type arguments.
func (p *program) suffix(args []types.Type) (all string) {
	for _, t := range args {
		name := types.TypeString(t, types.RelativeTo(p.own.Types))
		all += "_" + strings.Map(func(r rune) rune {
			if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
				return '_'
			}
			return r
		}, name)
	}
	return all
}

// fitting returns a constant as a Go value, or nil if it does not fit a type.
func fitting(v constant.Value, n *ir.Type) any {
	switch {
	case n.Kind == ir.Bool:
		if v.Kind() == constant.Bool {
			return constant.BoolVal(v)
		}
	case n.Complex():
		re, ok := rounded(constant.Real(v), n.Part())
		im, ok2 := rounded(constant.Imag(v), n.Part())
		if ok && ok2 {
			return complex(re, im)
		}
	case n.Float():
		if x, ok := rounded(v, n); ok {
			return x
		}
	case n.Signed():
		if x, exact := constant.Int64Val(whole(v)); exact {
			return x
		}
	default:
		if x, exact := constant.Uint64Val(whole(v)); exact {
			return x
		}
	}
	return nil
}

// rounded returns a constant as a float of a type.
func rounded(v constant.Value, t *ir.Type) (x float64, ok bool) {
	if v = constant.ToFloat(v); v.Kind() != constant.Float && v.Kind() != constant.Int {
		return 0, false
	}
	x, _ = constant.Float64Val(v)
	if t.Kind == ir.F32 {
		y, _ := constant.Float32Val(v)
		x = float64(y)
	}
	return x, !math.IsInf(x, 0)
}

// whole returns a constant as an integer. If the constant is not an integer, whole returns an integer that is too large for every type.
func whole(v constant.Value) constant.Value {
	if v = constant.ToInt(v); v.Kind() == constant.Int {
		return v
	}
	return constant.Shift(constant.MakeInt64(1), token.SHL, 100)
}
