//go:build go1.27 && goexperiment.simd && (amd64 || arm64 || wasm)

package lanes

import "simd"

// Elements that are a step apart go one by one between memory and a vector, because package simd has no such loads and stores. It pays
// where the kernel does much with a vector that it has loaded in this way. An element that the slice does not have is loaded as 0.

// Within returns the part of the range [from, to) of places for which step*place + offset is an index of a slice of n elements. step is
// positive, and the places are not negative. The result is empty if its first number is not below its second.
func Within(from, to, step, offset, n int) (int, int) {
	const far = 1 << 60
	if offset <= -far || offset >= far || n == 0 {
		return to, to
	}
	if offset < 0 {
		from = max(from, (step-1-offset)/step)
	}
	if n <= offset {
		return to, to
	}
	return from, min(to, (n-1-offset)/step+1)
}

// Covers reports whether at, at+step and so on, count numbers, are indexes of a slice of n elements.
func Covers(at, step, count, n int) bool {
	if uint(at) >= uint(n) || step < -n || step > n {
		return false
	}
	return uint(at+step*(count-1)) < uint(n) // no overflow: count is small, and step at most the length of a slice
}

// Steps returns int64(first + step*lane).
func Steps(first, step int) simd.Int64s {
	var a [most / 2]int64
	for i := range a {
		a[i] = int64(first + step*i)
	}
	return simd.LoadInt64s(a[:])
}

// GatherFloat32s returns the elements of s at, at+step and so on.
func GatherFloat32s(s []float32, at, step int) simd.Float32s {
	return GatherUint32s(unsigned[uint32](s), at, step).BitsToFloat32()
}

// ScatterFloat32s stores v in the elements of s at, at+step and so on, for the lanes of m.
func ScatterFloat32s(v simd.Float32s, m simd.Mask32s, s []float32, at, step int) {
	ScatterUint32s(v.ToBits(), m, unsigned[uint32](s), at, step)
}

// GatherInt32s returns the elements of s at, at+step and so on.
func GatherInt32s(s []int32, at, step int) simd.Int32s {
	return GatherUint32s(unsigned[uint32](s), at, step).BitsToInt32()
}

// ScatterInt32s stores v in the elements of s at, at+step and so on, for the lanes of m.
func ScatterInt32s(v simd.Int32s, m simd.Mask32s, s []int32, at, step int) {
	ScatterUint32s(v.ToBits(), m, unsigned[uint32](s), at, step)
}

// slowGatherUint32s is GatherUint32s where there is nothing better.
func slowGatherUint32s(s []uint32, at, step int) simd.Uint32s {
	var a [most]uint32
	var v simd.Uint32s
	take(a[:v.Len()], s, at, step)
	return simd.LoadUint32s(a[:])
}

// ScatterUint32s stores v in the elements of s at, at+step and so on, for the lanes of m.
func ScatterUint32s(v simd.Uint32s, m simd.Mask32s, s []uint32, at, step int) {
	var a [most]uint32
	var on [most]int32
	v.Store(a[:])
	m.ToInt32s().Store(on[:])
	put(s, at, step, a[:v.Len()], on[:])
}

// GatherFloat64s returns the elements of s at, at+step and so on.
func GatherFloat64s(s []float64, at, step int) simd.Float64s {
	return GatherUint64s(unsigned[uint64](s), at, step).BitsToFloat64()
}

// ScatterFloat64s stores v in the elements of s at, at+step and so on, for the lanes of m.
func ScatterFloat64s(v simd.Float64s, m simd.Mask64s, s []float64, at, step int) {
	ScatterUint64s(v.ToBits(), m, unsigned[uint64](s), at, step)
}

// GatherInt64s returns the elements of s at, at+step and so on.
func GatherInt64s(s []int64, at, step int) simd.Int64s {
	return GatherUint64s(unsigned[uint64](s), at, step).BitsToInt64()
}

// ScatterInt64s stores v in the elements of s at, at+step and so on, for the lanes of m.
func ScatterInt64s(v simd.Int64s, m simd.Mask64s, s []int64, at, step int) {
	ScatterUint64s(v.ToBits(), m, unsigned[uint64](s), at, step)
}

// slowGatherUint64s is GatherUint64s where there is nothing better.
func slowGatherUint64s(s []uint64, at, step int) simd.Uint64s {
	var a [most / 2]uint64
	var v simd.Uint64s
	take(a[:v.Len()], s, at, step)
	return simd.LoadUint64s(a[:])
}

// ScatterUint64s stores v in the elements of s at, at+step and so on, for the lanes of m.
func ScatterUint64s(v simd.Uint64s, m simd.Mask64s, s []uint64, at, step int) {
	var a [most / 2]uint64
	var on [most / 2]int64
	v.Store(a[:])
	m.ToInt64s().Store(on[:])
	put(s, at, step, a[:v.Len()], on[:])
}

// FourFloat32s returns [GatherFloat32s] at four places, one after the other.
func FourFloat32s(s []float32, at, step int) (a, b, c, d simd.Float32s) {
	e, f, g, h := FourUint32s(unsigned[uint32](s), at, step)
	return e.BitsToFloat32(), f.BitsToFloat32(), g.BitsToFloat32(), h.BitsToFloat32()
}

// FourInt32s returns [GatherInt32s] at four places, one after the other.
func FourInt32s(s []int32, at, step int) (a, b, c, d simd.Int32s) {
	e, f, g, h := FourUint32s(unsigned[uint32](s), at, step)
	return e.BitsToInt32(), f.BitsToInt32(), g.BitsToInt32(), h.BitsToInt32()
}

// slowFourUint32s is FourUint32s where there is nothing better.
func slowFourUint32s(s []uint32, at, step int) (a, b, c, d simd.Uint32s) {
	return GatherUint32s(s, at, step), GatherUint32s(s, at+1, step), GatherUint32s(s, at+2, step), GatherUint32s(s, at+3, step)
}
