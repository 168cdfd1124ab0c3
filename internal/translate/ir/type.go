package ir

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is the kind of a type.
type Kind uint8

// The kinds of types. Int and Uint are separate kinds, although they have 64 bits, because a target may choose another width for them.
const (
	Bool Kind = iota
	I8
	I16
	I32
	I64
	Int
	U8
	U16
	U32
	U64
	Uint
	F32
	F64
	C64
	C128
	Array   // Len elements of type Elem
	Struct  // Fields
	Tuple   // Fields without names: the results of a call
	Pointer // to an Elem in Space; only for parameters, and for arguments of calls
	Slice   // of Elem in Space; only for parameters
	Matrix  // rows and columns of Elem in Space; only for parameters
)

var kinds = [...]string{"bool", "i8", "i16", "i32", "i64", "int", "u8", "u16", "u32", "u64", "uint", "f32", "f64", "c64", "c128", "array", "struct", "tuple",
	"pointer", "slice", "matrix"}

// Space is the kind of memory that a place is in.
type Space uint8

// The kinds of memory.
const (
	Private  Space = iota // memory of one thread
	Shared                // memory that the threads of a block share
	Global                // a buffer
	Constant              // a table, which nothing changes
)

var spaces = [...]string{"private", "shared", "global", "constant"}

func (s Space) String() string { return spaces[s] }

// Type is the type of a value or a place. Types are compared by [Type.Same].
type Type struct {
	Kind   Kind
	Name   string // the name in Go of a structure; it may be empty, and only printers use it
	Elem   *Type
	Len    int64
	Fields []Field
	Space  Space
}

// Field is a field of a structure or tuple. The operator == does not compare fields that are named _.
type Field struct {
	Name string
	Type *Type
}

var basics = func() (all [C128 + 1]*Type) {
	for k := range all {
		all[k] = &Type{Kind: Kind(k)}
	}
	return all
}()

// Basic returns the type of numbers or bools of a kind.
func Basic(k Kind) *Type { return basics[k] }

// TupleOf returns the type of several results.
func TupleOf(results ...*Type) *Type {
	t := &Type{Kind: Tuple}
	for _, r := range results {
		t.Fields = append(t.Fields, Field{Type: r})
	}
	return t
}

// Same reports whether two types have the same values. Names of structures do not matter, since a conversion between structures with the same fields changes
// nothing.
func (t *Type) Same(u *Type) bool {
	if t == u || t == nil || u == nil {
		return t == u
	}
	return t.Kind == u.Kind && t.Len == u.Len && t.Space == u.Space && t.Elem.Same(u.Elem) &&
		slices.EqualFunc(t.Fields, u.Fields, func(a, b Field) bool { return a.Name == b.Name && a.Type.Same(b.Type) })
}

// Bits returns the width of a number, and 0 for other types.
func (t *Type) Bits() int {
	switch t.Kind {
	case I8, U8:
		return 8
	case I16, U16:
		return 16
	case I32, U32, F32:
		return 32
	case I64, U64, Int, Uint, F64, C64:
		return 64
	case C128:
		return 128
	}
	return 0
}

// Signed reports whether t is a type of integers with a sign.
func (t *Type) Signed() bool { return t.Kind >= I8 && t.Kind <= Int }

// Integer reports whether t is a type of integers.
func (t *Type) Integer() bool { return t.Kind >= I8 && t.Kind <= Uint }

// Float reports whether t is a type of real floating-point numbers.
func (t *Type) Float() bool { return t.Kind == F32 || t.Kind == F64 }

// Complex reports whether t is a type of complex numbers.
func (t *Type) Complex() bool { return t.Kind == C64 || t.Kind == C128 }

// Number reports whether t is a type of numbers.
func (t *Type) Number() bool { return t.Kind >= I8 && t.Kind <= C128 }

// Part returns the type of the parts of a complex number.
func (t *Type) Part() *Type {
	if t.Kind == C64 {
		return Basic(F32)
	}
	return Basic(F64)
}

// Memory reports whether t refers to memory: a pointer, slice or matrix. Such types are for parameters only.
func (t *Type) Memory() bool { return t.Kind >= Pointer }

// Inner returns the type of an element of an array, or of a field of a structure or tuple. If there is no such part, it returns nil.
func (t *Type) Inner(field int) *Type {
	switch {
	case t.Kind == Array:
		return t.Elem
	case (t.Kind == Struct || t.Kind == Tuple) && field >= 0 && field < len(t.Fields):
		return t.Fields[field].Type
	}
	return nil
}

// Has reports whether holds(u) is true for a type u that is t itself or a part of t.
func (t *Type) Has(holds func(*Type) bool) bool {
	return holds(t) || t.Elem != nil && t.Elem.Has(holds) || slices.ContainsFunc(t.Fields, func(f Field) bool { return f.Type.Has(holds) })
}

func (t *Type) String() string {
	switch t.Kind {
	case Array:
		return fmt.Sprintf("[%d]%s", t.Len, t.Elem)
	case Struct:
		if t.Name != "" {
			return t.Name
		}
		var fields []string
		for _, f := range t.Fields {
			fields = append(fields, f.Name+" "+f.Type.String())
		}
		return "struct{" + strings.Join(fields, "; ") + "}"
	case Tuple:
		var fields []string
		for _, f := range t.Fields {
			fields = append(fields, f.Type.String())
		}
		return "(" + strings.Join(fields, ", ") + ")"
	case Pointer:
		return fmt.Sprintf("*%s %s", t.Space, t.Elem)
	case Slice:
		return fmt.Sprintf("[]%s %s", t.Space, t.Elem)
	case Matrix:
		return fmt.Sprintf("[][]%s %s", t.Space, t.Elem)
	}
	return kinds[t.Kind]
}

// Size returns how many bytes a value of the type has in Go, where an int has 64 bits. For types that refer to memory, it returns 0.
func (t *Type) Size() int64 {
	size, _ := t.layout()
	return size
}

// layout returns the size and the alignment of a type.
func (t *Type) layout() (size, align int64) {
	switch t.Kind {
	case Bool:
		return 1, 1
	case C64:
		return 8, 4
	case C128:
		return 16, 8
	case Array:
		size, align = t.Elem.layout()
		return size * t.Len, align
	case Struct, Tuple:
		align = 1
		last := int64(1)
		for _, f := range t.Fields {
			n, a := f.Type.layout()
			size, align, last = (size+a-1)/a*a+n, max(align, a), n
		}
		if last == 0 && size > 0 { // as in Go: the address of an empty last field must be inside the structure
			size++
		}
		return (size + align - 1) / align * align, align
	}
	n := int64(t.Bits() / 8)
	return n, max(n, 1)
}
