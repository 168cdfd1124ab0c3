//go:build go1.27 && goexperiment.simd && (amd64 || arm64 || wasm)

package lanes

import "simd"

// Where some numbers of a kernel have 64 bits, the others are held in as many: an integer with its sign, and a float32 as the float64 that
// it equals.

// Load64Int8 returns the first elements of s, widened to 64 bits.
func Load64Int8(s []int8) simd.Int64s {
	var a [most / 2]int64
	var v simd.Int64s
	convert[int64](a[:], s[:v.Len()])
	return simd.LoadInt64s(a[:])
}

// Store64Int8 stores the low 8 bits of v in the first elements of s, for the lanes of m.
func Store64Int8(v simd.Int64s, m simd.Mask64s, s []int8) {
	var a, on [most / 2]int64
	v.Store(a[:])
	m.ToInt64s().Store(on[:])
	put(s, 0, 1, a[:v.Len()], on[:])
}

// Cut64Int8 returns int8(x), widened again.
func Cut64Int8(x simd.Float64s) simd.Int64s {
	var from [most / 2]float64
	var to [most / 2]int64
	x.Store(from[:])
	convert[int8](to[:], from[:x.Len()])
	return simd.LoadInt64s(to[:])
}

// Wrap64Int8 returns int8(v), widened again.
func Wrap64Int8(v simd.Int64s) simd.Int64s {
	half := simd.BroadcastInt64s(1 << 7)
	return AndInt64s(v.Add(half), simd.BroadcastInt64s(1<<8-1)).Sub(half)
}

// Load64Int16 returns the first elements of s, widened to 64 bits.
func Load64Int16(s []int16) simd.Int64s {
	var a [most / 2]int64
	var v simd.Int64s
	convert[int64](a[:], s[:v.Len()])
	return simd.LoadInt64s(a[:])
}

// Store64Int16 stores the low 16 bits of v in the first elements of s, for the lanes of m.
func Store64Int16(v simd.Int64s, m simd.Mask64s, s []int16) {
	var a, on [most / 2]int64
	v.Store(a[:])
	m.ToInt64s().Store(on[:])
	put(s, 0, 1, a[:v.Len()], on[:])
}

// Cut64Int16 returns int16(x), widened again.
func Cut64Int16(x simd.Float64s) simd.Int64s {
	var from [most / 2]float64
	var to [most / 2]int64
	x.Store(from[:])
	convert[int16](to[:], from[:x.Len()])
	return simd.LoadInt64s(to[:])
}

// Wrap64Int16 returns int16(v), widened again.
func Wrap64Int16(v simd.Int64s) simd.Int64s {
	half := simd.BroadcastInt64s(1 << 15)
	return AndInt64s(v.Add(half), simd.BroadcastInt64s(1<<16-1)).Sub(half)
}

// slowLoad64Int32 is Load64Int32 where package simd/archsimd has nothing better.
func slowLoad64Int32(s []int32) simd.Int64s {
	var a [most / 2]int64
	var v simd.Int64s
	convert[int64](a[:], s[:v.Len()])
	return simd.LoadInt64s(a[:])
}

// Store64Int32 stores the low 32 bits of v in the first elements of s, for the lanes of m.
func Store64Int32(v simd.Int64s, m simd.Mask64s, s []int32) {
	var a, on [most / 2]int64
	v.Store(a[:])
	m.ToInt64s().Store(on[:])
	put(s, 0, 1, a[:v.Len()], on[:])
}

// Cut64Int32 returns int32(x), widened again.
func Cut64Int32(x simd.Float64s) simd.Int64s {
	var from [most / 2]float64
	var to [most / 2]int64
	x.Store(from[:])
	convert[int32](to[:], from[:x.Len()])
	return simd.LoadInt64s(to[:])
}

// Wrap64Int32 returns int32(v), widened again.
func Wrap64Int32(v simd.Int64s) simd.Int64s {
	half := simd.BroadcastInt64s(1 << 31)
	return AndInt64s(v.Add(half), simd.BroadcastInt64s(1<<32-1)).Sub(half)
}

// Load64Uint8 returns the first elements of s, widened to 64 bits.
func Load64Uint8(s []uint8) simd.Uint64s {
	var a [most / 2]uint64
	var v simd.Uint64s
	convert[uint64](a[:], s[:v.Len()])
	return simd.LoadUint64s(a[:])
}

// Store64Uint8 stores the low 8 bits of v in the first elements of s, for the lanes of m.
func Store64Uint8(v simd.Uint64s, m simd.Mask64s, s []uint8) {
	var a [most / 2]uint64
	var on [most / 2]int64
	v.Store(a[:])
	m.ToInt64s().Store(on[:])
	put(s, 0, 1, a[:v.Len()], on[:])
}

// Cut64Uint8 returns uint8(x), widened again.
func Cut64Uint8(x simd.Float64s) simd.Uint64s {
	var from [most / 2]float64
	var to [most / 2]uint64
	x.Store(from[:])
	convert[uint8](to[:], from[:x.Len()])
	return simd.LoadUint64s(to[:])
}

// Wrap64Uint8 returns uint8(v), widened again.
func Wrap64Uint8(v simd.Uint64s) simd.Uint64s { return AndUint64s(v, simd.BroadcastUint64s(1<<8-1)) }

// Load64Uint16 returns the first elements of s, widened to 64 bits.
func Load64Uint16(s []uint16) simd.Uint64s {
	var a [most / 2]uint64
	var v simd.Uint64s
	convert[uint64](a[:], s[:v.Len()])
	return simd.LoadUint64s(a[:])
}

// Store64Uint16 stores the low 16 bits of v in the first elements of s, for the lanes of m.
func Store64Uint16(v simd.Uint64s, m simd.Mask64s, s []uint16) {
	var a [most / 2]uint64
	var on [most / 2]int64
	v.Store(a[:])
	m.ToInt64s().Store(on[:])
	put(s, 0, 1, a[:v.Len()], on[:])
}

// Cut64Uint16 returns uint16(x), widened again.
func Cut64Uint16(x simd.Float64s) simd.Uint64s {
	var from [most / 2]float64
	var to [most / 2]uint64
	x.Store(from[:])
	convert[uint16](to[:], from[:x.Len()])
	return simd.LoadUint64s(to[:])
}

// Wrap64Uint16 returns uint16(v), widened again.
func Wrap64Uint16(v simd.Uint64s) simd.Uint64s { return AndUint64s(v, simd.BroadcastUint64s(1<<16-1)) }

// slowLoad64Uint32 is Load64Uint32 where package simd/archsimd has nothing better.
func slowLoad64Uint32(s []uint32) simd.Uint64s {
	var a [most / 2]uint64
	var v simd.Uint64s
	convert[uint64](a[:], s[:v.Len()])
	return simd.LoadUint64s(a[:])
}

// Store64Uint32 stores the low 32 bits of v in the first elements of s, for the lanes of m.
func Store64Uint32(v simd.Uint64s, m simd.Mask64s, s []uint32) {
	var a [most / 2]uint64
	var on [most / 2]int64
	v.Store(a[:])
	m.ToInt64s().Store(on[:])
	put(s, 0, 1, a[:v.Len()], on[:])
}

// Cut64Uint32 returns uint32(x), widened again.
func Cut64Uint32(x simd.Float64s) simd.Uint64s {
	var from [most / 2]float64
	var to [most / 2]uint64
	x.Store(from[:])
	convert[uint32](to[:], from[:x.Len()])
	return simd.LoadUint64s(to[:])
}

// Wrap64Uint32 returns uint32(v), widened again.
func Wrap64Uint32(v simd.Uint64s) simd.Uint64s { return AndUint64s(v, simd.BroadcastUint64s(1<<32-1)) }

// slowLoad64Float32 is Load64Float32 where package simd/archsimd has nothing better.
func slowLoad64Float32(s []float32) simd.Float64s {
	var a [most / 2]float64
	var v simd.Float64s
	convert[float64](a[:], s[:v.Len()])
	return simd.LoadFloat64s(a[:])
}

// Store64Float32 stores float32(v) in the first elements of s, for the lanes of m.
func Store64Float32(v simd.Float64s, m simd.Mask64s, s []float32) {
	var a [most / 2]float64
	var on [most / 2]int64
	v.Store(a[:])
	m.ToInt64s().Store(on[:])
	put(s, 0, 1, a[:v.Len()], on[:])
}

// slowWrap64Float32 is Wrap64Float32 where package simd/archsimd has nothing better.
func slowWrap64Float32(v simd.Float64s) simd.Float64s {
	var a [most / 2]float64
	v.Store(a[:])
	convert[float32](a[:], a[:v.Len()])
	return simd.LoadFloat64s(a[:])
}

// RoundInt64s returns float32(x), widened. Through a float64 it would be rounded twice.
func RoundInt64s(x simd.Int64s) simd.Float64s {
	var from [most / 2]int64
	var to [most / 2]float64
	x.Store(from[:])
	convert[float32](to[:], from[:x.Len()])
	return simd.LoadFloat64s(to[:])
}

// RoundUint64s returns float32(x), widened.
func RoundUint64s(x simd.Uint64s) simd.Float64s {
	var from [most / 2]uint64
	var to [most / 2]float64
	x.Store(from[:])
	convert[float32](to[:], from[:x.Len()])
	return simd.LoadFloat64s(to[:])
}

// MulInt64s returns x * y.
func MulInt64s(x, y simd.Int64s) simd.Int64s {
	return MulUint64s(x.ToBits(), y.ToBits()).BitsToInt64()
}

// MulUint64s returns x * y. Few processors multiply vectors of 64 bits.
func MulUint64s(x, y simd.Uint64s) simd.Uint64s {
	var a, b [most / 2]uint64
	x.Store(a[:])
	y.Store(b[:])
	for i := range x.Len() {
		a[i] *= b[i]
	}
	return simd.LoadUint64s(a[:])
}

// MulLowInt64s returns numbers whose low 32 bits are those of x * y.
func MulLowInt64s(x, y simd.Int64s) simd.Int64s {
	return MulLowUint64s(x.ToBits(), y.ToBits()).BitsToInt64()
}

// MulLowUint64s returns numbers whose low 32 bits are those of x * y.
func MulLowUint64s(x, y simd.Uint64s) simd.Uint64s {
	return x.ReshapeToUint32s().Mul(y.ReshapeToUint32s()).ReshapeToUint64s()
}
