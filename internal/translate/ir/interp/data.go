package interp

import (
	"math"
	"reflect"

	"github.com/go-halyard/halyard/internal/translate/ir"
)

// data is a value. An integer is extended to 64 bits, by its sign if its type has one; a float has its own bits; a bool is 0 or 1. imag are the bits of
// the imaginary part of a complex number, and parts are the elements or fields of other types.
type data struct {
	bits, imag uint64
	parts      []data
}

// copied returns a copy that has no memory in common with d.
func (d data) copied() data {
	if d.parts == nil {
		return d
	}
	all := make([]data, len(d.parts))
	for i := range all {
		all[i] = d.parts[i].copied()
	}
	d.parts = all
	return d
}

func zero(t *ir.Type) (d data) {
	switch t.Kind {
	case ir.Array:
		d.parts = make([]data, t.Len)
		if !t.Elem.Number() && t.Elem.Kind != ir.Bool {
			for i := range d.parts {
				d.parts[i] = zero(t.Elem)
			}
		}
	case ir.Struct:
		for _, f := range t.Fields {
			d.parts = append(d.parts, zero(f.Type))
		}
	}
	return d
}

// filled returns a value of a type with the parts of a table, and the parts behind them.
func filled(t *ir.Type, parts []any) (d data, rest []any) {
	add := func(t *ir.Type) {
		var p data
		p, parts = filled(t, parts)
		d.parts = append(d.parts, p)
	}
	switch t.Kind {
	case ir.Array:
		for range t.Len {
			add(t.Elem)
		}
	case ir.Struct:
		for _, f := range t.Fields {
			add(f.Type)
		}
	default:
		return constant(t, parts[0]), parts[1:]
	}
	return d, parts
}

func integer(n int) data { return data{bits: uint64(n)} }

func truth(x bool) (d data) {
	if x {
		d.bits = 1
	}
	return d
}

func f32(d data) float32 { return math.Float32frombits(uint32(d.bits)) }
func f64(d data) float64 { return math.Float64frombits(d.bits) }

// float returns a number as one of a type of floats.
func float(k ir.Kind, x float64) data {
	if k == ir.F32 {
		return data{bits: uint64(math.Float32bits(float32(x)))}
	}
	return data{bits: math.Float64bits(x)}
}

func c64(d data) complex64 {
	return complex(math.Float32frombits(uint32(d.bits)), math.Float32frombits(uint32(d.imag)))
}

func c128(d data) complex128 {
	return complex(math.Float64frombits(d.bits), math.Float64frombits(d.imag))
}

func fromC64(z complex64) data {
	return data{bits: uint64(math.Float32bits(real(z))), imag: uint64(math.Float32bits(imag(z)))}
}

func fromC128(z complex128) data {
	return data{bits: math.Float64bits(real(z)), imag: math.Float64bits(imag(z))}
}

func constant(t *ir.Type, x any) data {
	switch x := x.(type) {
	case bool:
		return truth(x)
	case int64:
		return data{bits: uint64(x)}
	case uint64:
		return data{bits: x}
	case float64:
		return float(t.Kind, x)
	case complex128:
		if t.Kind == ir.C64 {
			return fromC64(complex64(x))
		}
		return fromC128(x)
	}
	return data{}
}

// fromGo returns a Go value. The elements of a slice are its parts.
func fromGo(v reflect.Value) (d data) {
	switch v.Kind() {
	case reflect.Bool:
		return truth(v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return data{bits: uint64(v.Int())}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return data{bits: v.Uint()}
	case reflect.Float32:
		return float(ir.F32, v.Float())
	case reflect.Float64:
		return float(ir.F64, v.Float())
	case reflect.Complex64:
		return fromC64(complex64(v.Complex()))
	case reflect.Complex128:
		return fromC128(v.Complex())
	case reflect.Struct:
		for i := range v.NumField() {
			d.parts = append(d.parts, fromGo(v.Field(i)))
		}
		return d
	}
	d.parts = make([]data, v.Len())
	for i := range d.parts {
		d.parts[i] = fromGo(v.Index(i))
	}
	return d
}

// toGo sets a Go value, or the elements of a slice. Fields that are not exported stay as they are.
func toGo(d data, v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(d.bits != 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(d.bits))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(d.bits)
	case reflect.Float32:
		v.SetFloat(float64(f32(d)))
	case reflect.Float64:
		v.SetFloat(f64(d))
	case reflect.Complex64:
		v.SetComplex(complex128(c64(d)))
	case reflect.Complex128:
		v.SetComplex(c128(d))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				toGo(d.parts[i], v.Field(i))
			}
		}
	default:
		for i := range d.parts {
			toGo(d.parts[i], v.Index(i))
		}
	}
}
