//go:build go1.27 && goexperiment.simd && (amd64 || arm64 || wasm)

package lanes

import (
	"simd"
	"unsafe"
)

// Load returns the element that first points to and those behind it, as many as a vector of type V has. V must be a vector type of package
// simd with elements of type T. The caller must know that memory has the elements: a check of each vector would cost as much as the load.
func Load[V, T any](first *T) V { return *(*V)(unsafe.Pointer(first)) }

// Store stores v in the element that first points to and those behind it. The caller must know that memory has as many as v, as for [Load].
func Store[V, T any](v V, first *T) { *(*V)(unsafe.Pointer(first)) = v }

// scalar is the type of an element or of a lane.
type scalar interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

// convert sets the first elements of to to those of from, converted to type Over first.
func convert[Over, T, F scalar](to []T, from []F) {
	for i, v := range from {
		to[i] = T(Over(v))
	}
}

// take sets a to the elements of s at, at+step and so on, as far as s has them.
func take[T scalar](a, s []T, at, step int) {
	for i := range a {
		if k := at + i*step; uint(k) < uint(len(s)) {
			a[i] = s[k]
		}
	}
}

// Flat returns the numbers of the arrays in a slice, which may be arrays of arrays, as one slice. T must be their type.
func Flat[T scalar, A any](s []A) []T {
	var number T
	var array A
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(array)/unsafe.Sizeof(number)))
}

// put sets the elements of s at, at+step and so on to those of a for which on is not 0.
func put[T, F scalar, M int32 | int64](s []T, at, step int, a []F, on []M) {
	for i, v := range a {
		if on[i] != 0 {
			s[at+i*step] = T(v)
		}
	}
}

// unsigned returns the elements of s as the numbers U of their bits, which have the same size.
func unsigned[U uint32 | uint64, T scalar](s []T) []U {
	return unsafe.Slice((*U)(unsafe.Pointer(unsafe.SliceData(s))), len(s))
}

// A masked store changes no element whose lane is not in the mask: another thread may be writing it at the same time.

// StoreFloat32s stores v in the first elements of s, for the lanes of m.
func StoreFloat32s(v simd.Float32s, m simd.Mask32s, s []float32) {
	StoreUint32s(v.ToBits(), m, unsigned[uint32](s))
}

// StoreInt32s stores v in the first elements of s, for the lanes of m.
func StoreInt32s(v simd.Int32s, m simd.Mask32s, s []int32) {
	StoreUint32s(v.ToBits(), m, unsigned[uint32](s))
}

// StoreFloat64s stores v in the first elements of s, for the lanes of m.
func StoreFloat64s(v simd.Float64s, m simd.Mask64s, s []float64) {
	StoreUint64s(v.ToBits(), m, unsigned[uint64](s))
}

// StoreInt64s stores v in the first elements of s, for the lanes of m.
func StoreInt64s(v simd.Int64s, m simd.Mask64s, s []int64) {
	StoreUint64s(v.ToBits(), m, unsigned[uint64](s))
}

// LoadInt8 returns the first elements of s, widened to 32 bits.
func LoadInt8(s []int8) simd.Int32s {
	var a [most]int32
	var v simd.Int32s
	convert[int32](a[:], s[:v.Len()])
	return simd.LoadInt32s(a[:])
}

// StoreInt8 stores the low 8 bits of v in the first elements of s, for the lanes of m.
func StoreInt8(v simd.Int32s, m simd.Mask32s, s []int8) {
	var a, on [most]int32
	v.Store(a[:])
	m.ToInt32s().Store(on[:])
	put(s, 0, 1, a[:v.Len()], on[:])
}

// WrapInt8 returns int8(v), widened again.
func WrapInt8(v simd.Int32s) simd.Int32s { return AloneInt32s(v.ShiftAllLeft(24).ShiftAllRight(24)) }

// LoadInt16 returns the first elements of s, widened to 32 bits.
func LoadInt16(s []int16) simd.Int32s {
	var a [most]int32
	var v simd.Int32s
	convert[int32](a[:], s[:v.Len()])
	return simd.LoadInt32s(a[:])
}

// StoreInt16 stores the low 16 bits of v in the first elements of s, for the lanes of m.
func StoreInt16(v simd.Int32s, m simd.Mask32s, s []int16) {
	var a, on [most]int32
	v.Store(a[:])
	m.ToInt32s().Store(on[:])
	put(s, 0, 1, a[:v.Len()], on[:])
}

// WrapInt16 returns int16(v), widened again.
func WrapInt16(v simd.Int32s) simd.Int32s { return AloneInt32s(v.ShiftAllLeft(16).ShiftAllRight(16)) }

// LoadUint8 returns the first elements of s, widened to 32 bits.
func LoadUint8(s []uint8) simd.Uint32s {
	var a [most]uint32
	var v simd.Uint32s
	convert[uint32](a[:], s[:v.Len()])
	return simd.LoadUint32s(a[:])
}

// StoreUint8 stores the low 8 bits of v in the first elements of s, for the lanes of m.
func StoreUint8(v simd.Uint32s, m simd.Mask32s, s []uint8) {
	var a [most]uint32
	var on [most]int32
	v.Store(a[:])
	m.ToInt32s().Store(on[:])
	put(s, 0, 1, a[:v.Len()], on[:])
}

// WrapUint8 returns uint8(v), widened again.
func WrapUint8(v simd.Uint32s) simd.Uint32s { return AndUint32s(v, simd.BroadcastUint32s(1<<8-1)) }

// LoadUint16 returns the first elements of s, widened to 32 bits.
func LoadUint16(s []uint16) simd.Uint32s {
	var a [most]uint32
	var v simd.Uint32s
	convert[uint32](a[:], s[:v.Len()])
	return simd.LoadUint32s(a[:])
}

// StoreUint16 stores the low 16 bits of v in the first elements of s, for the lanes of m.
func StoreUint16(v simd.Uint32s, m simd.Mask32s, s []uint16) {
	var a [most]uint32
	var on [most]int32
	v.Store(a[:])
	m.ToInt32s().Store(on[:])
	put(s, 0, 1, a[:v.Len()], on[:])
}

// WrapUint16 returns uint16(v), widened again.
func WrapUint16(v simd.Uint32s) simd.Uint32s { return AndUint32s(v, simd.BroadcastUint32s(1<<16-1)) }
