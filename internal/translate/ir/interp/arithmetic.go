package interp

import (
	"math"

	"github.com/go-halyard/halyard/internal/translate/ir"
)

// wrap returns n converted to a kind of integers, extended to 64 bits again.
func wrap(k ir.Kind, n uint64) uint64 {
	switch k {
	case ir.I8:
		return uint64(int8(n))
	case ir.I16:
		return uint64(int16(n))
	case ir.I32:
		return uint64(int32(n))
	case ir.U8:
		return uint64(uint8(n))
	case ir.U16:
		return uint64(uint16(n))
	case ir.U32:
		return uint64(uint32(n))
	}
	return n
}

func shift(op ir.Op, t *ir.Type, x, count uint64) data {
	switch {
	case op == ir.Shl:
		x <<= count
	case t.Signed():
		x = uint64(int64(x) >> count)
	default:
		x >>= count
	}
	return data{bits: wrap(t.Kind, x)}
}

// binary computes an operation on two numbers of a type.
func binary(op ir.Op, t *ir.Type, x, y data) data {
	switch {
	case t.Integer():
		return data{bits: wrap(t.Kind, integers(op, t.Signed(), x.bits, y.bits))}
	case t.Kind == ir.F32:
		return data{bits: uint64(math.Float32bits(floats(op, f32(x), f32(y))))}
	case t.Kind == ir.F64:
		return data{bits: math.Float64bits(floats(op, f64(x), f64(y)))}
	case t.Kind == ir.C64:
		return fromC64(complexes(op, c64(x), c64(y)))
	}
	return fromC128(complexes(op, c128(x), c128(y)))
}

func integers(op ir.Op, signed bool, x, y uint64) uint64 {
	switch op {
	case ir.Add:
		return x + y
	case ir.Sub:
		return x - y
	case ir.Mul:
		return x * y
	case ir.And:
		return x & y
	case ir.Or:
		return x | y
	case ir.Xor:
		return x ^ y
	case ir.AndNot:
		return x &^ y
	}
	if signed {
		return uint64(ordered(op, int64(x), int64(y)))
	}
	return ordered(op, x, y)
}

func ordered[T int64 | uint64](op ir.Op, x, y T) T {
	switch op {
	case ir.Div:
		return x / y
	case ir.Rem:
		return x % y
	case ir.Min:
		return min(x, y)
	}
	return max(x, y)
}

func floats[T float32 | float64](op ir.Op, x, y T) T {
	switch op {
	case ir.Add:
		return x + y
	case ir.Sub:
		return x - y
	case ir.Mul:
		return x * y
	case ir.Div:
		return x / y
	case ir.Min:
		return min(x, y)
	}
	return max(x, y)
}

func complexes[T complex64 | complex128](op ir.Op, x, y T) T {
	switch op {
	case ir.Add:
		return x + y
	case ir.Sub:
		return x - y
	case ir.Mul:
		return x * y
	}
	return x / y
}

func compare(op ir.Op, t *ir.Type, x, y data) bool {
	switch {
	case op == ir.Eq:
		return equal(t, x, y)
	case op == ir.Ne:
		return !equal(t, x, y)
	case t.Kind == ir.F32:
		return less(op, f32(x), f32(y))
	case t.Kind == ir.F64:
		return less(op, f64(x), f64(y))
	case t.Signed():
		return less(op, int64(x.bits), int64(y.bits))
	}
	return less(op, x.bits, y.bits)
}

func less[T int64 | uint64 | float32 | float64](op ir.Op, x, y T) bool {
	switch op {
	case ir.Lt:
		return x < y
	case ir.Le:
		return x <= y
	case ir.Gt:
		return x > y
	}
	return x >= y
}

func equal(t *ir.Type, x, y data) bool {
	switch t.Kind {
	case ir.F32:
		return f32(x) == f32(y)
	case ir.F64:
		return f64(x) == f64(y)
	case ir.C64:
		return c64(x) == c64(y)
	case ir.C128:
		return c128(x) == c128(y)
	case ir.Array, ir.Struct:
		for i := range x.parts {
			if (t.Kind == ir.Array || t.Fields[i].Name != "_") && !equal(t.Inner(i), x.parts[i], y.parts[i]) {
				return false
			}
		}
		return true
	}
	return x.bits == y.bits
}

func unary(v *ir.Value, x data) data {
	t := v.Type
	switch v.Op {
	case ir.Not:
		return truth(x.bits == 0)
	case ir.Complement:
		return data{bits: wrap(t.Kind, ^x.bits)}
	case ir.Round:
		return x
	case ir.Real:
		return data{bits: x.bits}
	case ir.Imag:
		return data{bits: x.imag}
	case ir.Convert:
		return converted(v.Args[0].Type, t, x)
	}
	switch t.Kind { // Neg
	case ir.F32:
		return data{bits: uint64(math.Float32bits(-f32(x)))}
	case ir.F64:
		return data{bits: math.Float64bits(-f64(x))}
	case ir.C64:
		return fromC64(-c64(x))
	case ir.C128:
		return fromC128(-c128(x))
	}
	return data{bits: wrap(t.Kind, -x.bits)}
}

func converted(from, to *ir.Type, x data) data {
	switch {
	case from.Integer() && to.Integer():
		return data{bits: wrap(to.Kind, x.bits)}
	case to.Kind == ir.C64:
		return fromC64(complex64(c128(x)))
	case to.Kind == ir.C128:
		return fromC128(complex128(c64(x)))
	case from.Kind == ir.F32 && to.Kind == ir.F64:
		return data{bits: math.Float64bits(float64(f32(x)))}
	case from.Kind == ir.F64 && to.Kind == ir.F32:
		return data{bits: uint64(math.Float32bits(float32(f64(x))))}
	case from.Kind == ir.F32:
		return data{bits: cut(to.Kind, f32(x))}
	case from.Kind == ir.F64:
		return data{bits: cut(to.Kind, f64(x))}
	case to.Kind == ir.F32 && from.Signed():
		return data{bits: uint64(math.Float32bits(float32(int64(x.bits))))}
	case to.Kind == ir.F32:
		return data{bits: uint64(math.Float32bits(float32(x.bits)))}
	case from.Signed():
		return data{bits: math.Float64bits(float64(int64(x.bits)))}
	}
	return data{bits: math.Float64bits(float64(x.bits))}
}

// cut converts a float to an integer of a kind.
func cut[T float32 | float64](k ir.Kind, x T) uint64 {
	switch k {
	case ir.I8:
		return uint64(int8(x))
	case ir.I16:
		return uint64(int16(x))
	case ir.I32:
		return uint64(int32(x))
	case ir.U8:
		return uint64(uint8(x))
	case ir.U16:
		return uint64(uint16(x))
	case ir.U32:
		return uint64(uint32(x))
	case ir.U64, ir.Uint:
		return uint64(x)
	}
	return uint64(int64(x))
}
