package translate

import (
	"fmt"
	"go/token"
	"go/types"
	"strings"
	"unicode"
)

// number is the C type of a number or a bool.
type number struct {
	c      string // the type's name
	bits   int    // 8 for a bool
	signed bool
	float  bool
	truth  bool // it is a bool
}

var numbers = map[types.BasicKind]number{
	types.Bool: {"u8", 8, false, false, true}, types.UntypedBool: {"u8", 8, false, false, true},
	types.Int: {"i64", 64, true, false, false}, types.Int8: {"i8", 8, true, false, false}, types.Int16: {"i16", 16, true, false, false},
	types.Int32: {"i32", 32, true, false, false}, types.Int64: {"i64", 64, true, false, false},
	types.Uint: {"u64", 64, false, false, false}, types.Uint8: {"u8", 8, false, false, false}, types.Uint16: {"u16", 16, false, false, false},
	types.Uint32: {"u32", 32, false, false, false}, types.Uint64: {"u64", 64, false, false, false},
	types.Float32: {"f32", 32, true, true, false}, types.Float64: {"f64", 64, true, true, false},
	types.UntypedInt: {"i64", 64, true, false, false}, types.UntypedRune: {"i32", 32, true, false, false}, types.UntypedFloat: {"f64", 64, true, true, false},
}

// numberOf returns the C type of a type of numbers or bools. It reports false for other types.
func numberOf(t types.Type) (number, bool) {
	if b, ok := t.Underlying().(*types.Basic); ok {
		n, ok := numbers[b.Kind()]
		return n, ok
	}
	return number{}, false
}

// unsigned returns the type in which C computes modulo the width. It has at least 32 bits, since C widens narrower types to a signed
// type.
func (n number) unsigned() string {
	if n.bits == 64 {
		return "u64"
	}
	return "u32"
}

// why returns the message for a type that has no translation, which says what to write instead.
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
			return "a slice of slices has no translation; use one slice and compute the index"
		}
		return "a slice can only be a parameter; use the parameter, or an array of fixed size"
	case *types.Pointer:
		return "a pointer can only be a parameter of a function, or the result of grid.Shared; use the variable that it points to"
	case *types.Basic:
		switch {
		case u.Info()&types.IsString != 0:
			return "a string has no translation; use numbers"
		case u.Kind() == types.Uintptr || u.Kind() == types.UnsafePointer:
			return "an address has no translation; use an index"
		}
	}
	return fmt.Sprintf("type %s has no translation; use numbers of fixed width, and structures and arrays of them", t)
}

// cType returns the C name of a type of values, and declares the type if needed.
func (p *program) cType(t types.Type, pos token.Pos) string {
	return p.cTypeAt(t, pos, 0)
}

// maxNesting limits the nesting of types. In a program with errors it could be endless.
const maxNesting = 32

func (p *program) cTypeAt(t types.Type, pos token.Pos, depth int) string {
	if depth > maxNesting {
		refuse(pos, "type %s is nested more than %d levels deep; use fewer levels", t, maxNesting)
	}
	t = types.Unalias(t)
	if n, ok := numberOf(t); ok {
		return n.c
	}
	if z, ok := complexOf(t); ok {
		return p.declareComplex(z)
	}
	if matrixOf(t) != nil {
		refuse(pos, "%s", onlyMatrix)
	}
	switch u := t.Underlying().(type) {
	case *types.Array:
		if u.Len() < 1 {
			refuse(pos, "an array without elements has no translation; remove it")
		}
		if u.Len() > 1<<28 {
			refuse(pos, "an array of %d elements is too large for a thread; use a buffer", u.Len())
		}
		elem := p.cTypeAt(u.Elem(), pos, depth+1)
		short := elem
		if strings.HasPrefix(elem, "T_") && unicode.IsDigit(rune(elem[2])) { // an array; the name of a structure keeps the prefix, because it may be called i32
			short = elem[2:]
		}
		name := fmt.Sprintf("T_%d_%s", u.Len(), short)
		if !p.typed[name] {
			p.typed[name] = true
			p.types = append(p.types, fmt.Sprintf("typedef struct { %s a[%d]; } %s;", elem, u.Len(), name))
		}
		return name
	case *types.Struct:
		if u.NumFields() == 0 {
			refuse(pos, "a structure without fields has no translation; remove it")
		}
		var text strings.Builder
		text.WriteString("typedef struct {")
		for i := range u.NumFields() {
			fmt.Fprintf(&text, " %s %s;", p.cTypeAt(u.Field(i).Type(), pos, depth+1), fieldName(u, i))
		}
		body := text.String() + " }"
		if name, ok := p.structs[body]; ok { // types with the same fields share a name, so a conversion between them changes nothing
			return name
		}
		base := "T_struct"
		if n, ok := t.(*types.Named); ok {
			p.uses(n.Obj().Pkg())
			base = mangle("T_", n.Obj().Name())
		}
		name := base
		for i := 1; p.typed[name]; i++ {
			name = fmt.Sprintf("%s_%d", base, i)
		}
		p.typed[name] = true
		p.structs[body] = name
		p.types = append(p.types, body+" "+name+";")
		return name
	}
	refuse(pos, "%s", why(t))
	return ""
}

// fieldName returns the name of a field in C.
func fieldName(s *types.Struct, i int) string {
	if s.Field(i).Name() == "_" {
		return fmt.Sprintf("b_%d", i)
	}
	return mangle("h_", s.Field(i).Name())
}

// mangle returns a name that is not a word of any dialect, and that it returns for no other name. The prefix h_ is for variables and fields, b_ for
// fields without a name, f_ for functions, k_ for kernels, T_ for types, R_ for results, v_ for variables that the translation adds, and go_ for
// functions of support.go. For a name with letters that C does not have the prefix is hu_, and so on.
func mangle(prefix, name string) string {
	if !strings.ContainsFunc(name, func(r rune) bool { return r >= 0x80 }) {
		return prefix + name
	}
	var b strings.Builder
	b.WriteString(strings.TrimSuffix(prefix, "_") + "u_")
	for _, r := range name {
		switch {
		case r == '_':
			b.WriteString("__")
		case r < 0x80:
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "_%x_", r)
		}
	}
	return b.String()
}

// substitute replaces type parameters by their arguments. A type that a generic function declares, and that depends on them, becomes the type below:
// it has no methods that would be lost.
func (f *function) substitute(t types.Type) types.Type {
	if len(f.args) == 0 || t == nil {
		return t
	}
	switch t := types.Unalias(t).(type) {
	case *types.TypeParam:
		if a, ok := f.args[t]; ok {
			return a
		}
	case *types.Named:
		if t.TypeArgs().Len() > 0 {
			var args []types.Type
			for i := range t.TypeArgs().Len() {
				args = append(args, f.substitute(t.TypeArgs().At(i)))
			}
			if made, err := types.Instantiate(f.p.context, t.Origin(), args, false); err == nil {
				return made
			}
		}
		if own := t.Obj(); own.Pkg() != nil && own.Parent() != own.Pkg().Scope() && !f.inside[t] {
			f.inside[t] = true // a type may contain itself, behind a pointer
			below := f.substitute(t.Underlying())
			delete(f.inside, t)
			if !types.Identical(below, t.Underlying()) {
				return below
			}
		}
	case *types.Array:
		return types.NewArray(f.substitute(t.Elem()), t.Len())
	case *types.Slice:
		return types.NewSlice(f.substitute(t.Elem()))
	case *types.Pointer:
		return types.NewPointer(f.substitute(t.Elem()))
	case *types.Struct:
		var fields []*types.Var
		for i := range t.NumFields() {
			v := t.Field(i)
			fields = append(fields, types.NewField(v.Pos(), v.Pkg(), v.Name(), f.substitute(v.Type()), v.Embedded()))
		}
		return types.NewStruct(fields, nil)
	case *types.Tuple:
		var vars []*types.Var
		for v := range t.Variables() {
			vars = append(vars, types.NewVar(v.Pos(), v.Pkg(), v.Name(), f.substitute(v.Type())))
		}
		return types.NewTuple(vars...)
	}
	return t
}

// gridType reports whether t is a type of package grid with that name.
func gridType(t types.Type, name string) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.Obj().Pkg() != nil && n.Obj().Pkg().Path() == gridPath && n.Obj().Name() == name
}

const gridPath = "github.com/go-halyard/halyard/kernel/grid"
