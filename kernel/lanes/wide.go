//go:build go1.27 && goexperiment.simd && (amd64 || arm64 || wasm)

package lanes

import "simd"

// Where some numbers of a kernel have 64 bits, the others are held in as many: an integer with its sign, and a float32 as the float64 that
// it equals.

// slowWrap64Float32 is Wrap64Float32 where package simd/archsimd has nothing better.
func slowWrap64Float32(v simd.Float64s) simd.Float64s {
	var a [most / 2]float64
	v.Store(a[:])
	convert[float32](a[:], a[:v.Len()])
	return simd.LoadFloat64s(a[:])
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
