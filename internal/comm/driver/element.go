package driver

import (
	"fmt"
	"reflect"
)

// Type is the type of the elements that a reduction combines: Go's numbers of fixed size, in the machine's byte order.
type Type uint8

const (
	Int8 Type = iota
	Int16
	Int32
	Int64
	Uint8
	Uint16
	Uint32
	Uint64
	Float32
	Float64
	Complex64
	Complex128
	lastType
)

var types = [lastType]struct {
	name string
	size uint64
}{{"int8", 1}, {"int16", 2}, {"int32", 4}, {"int64", 8}, {"uint8", 1}, {"uint16", 2}, {"uint32", 4}, {"uint64", 8},
	{"float32", 4}, {"float64", 8}, {"complex64", 8}, {"complex128", 16}}

// String is Go's name of the type.
func (t Type) String() string {
	if t < lastType {
		return types[t].name
	}
	return fmt.Sprintf("Type(%d)", uint8(t))
}

// Size is the size of an element in bytes.
func (t Type) Size() uint64 { return types[t].size }

// byKind has the types by Go's kinds.
var byKind = map[reflect.Kind]Type{
	reflect.Int8: Int8, reflect.Int16: Int16, reflect.Int32: Int32, reflect.Int64: Int64,
	reflect.Uint8: Uint8, reflect.Uint16: Uint16, reflect.Uint32: Uint32, reflect.Uint64: Uint64,
	reflect.Float32: Float32, reflect.Float64: Float64, reflect.Complex64: Complex64, reflect.Complex128: Complex128,
}

// TypeFor returns the type of elements of T in messages. Elements other than numbers of fixed size are sent as bytes.
func TypeFor[T any]() Type {
	if t, ok := byKind[reflect.TypeFor[T]().Kind()]; ok {
		return t
	}
	return Uint8
}

// Types lists every type once.
func Types() []Type {
	all := make([]Type, lastType)
	for i := range all {
		all[i] = Type(i)
	}
	return all
}

// Op is how a reduction combines elements. An engine may combine them in any order, so results of floating-point types may differ in
// their last bits between engines, between runs with other numbers of ranks, and for Allreduce between algorithms.
type Op uint8

const (
	Sum  Op = iota // integers wrap around
	Prod           // integers wrap around
	Min            // not of complex numbers; unspecified if an element is NaN
	Max            // the same
	And            // bit by bit, of integers only
	Or             // the same
	Xor            // the same
	lastOp
)

var opNames = [lastOp]string{"Sum", "Prod", "Min", "Max", "And", "Or", "Xor"}

// String is the name of the constant.
func (o Op) String() string {
	if o < lastOp {
		return opNames[o]
	}
	return fmt.Sprintf("Op(%d)", uint8(o))
}

// Ops lists every operation once.
func Ops() []Op {
	all := make([]Op, lastOp)
	for i := range all {
		all[i] = Op(i)
	}
	return all
}

// Takes reports whether the operation is defined for elements of the type.
func (o Op) Takes(t Type) bool {
	switch {
	case o >= lastOp || t >= lastType:
		return false
	case o >= And:
		return t <= Uint64
	case o >= Min:
		return t <= Float64
	}
	return true
}
