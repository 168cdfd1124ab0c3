//go:build go1.27 && goexperiment.simd && (amd64 || arm64 || wasm)

package lanes

import (
	"simd"
	"unsafe"
)

// most is the largest number of lanes: 512 bits of 32 each.
const most = 16

// Hardware reports whether the processor has vectors that give the right bits. Package simd computes without them too, several times slower
// than scalar code. Vectors of 512 bits are left out: Go 1.27.0 to 1.27.4 compiles some operations on masks and bits to wrong instructions
// of that width. With GODEBUG=simd=256 in the environment, a processor that has 512 bits uses 256.
func Hardware() bool { return !simd.Emulated() && simd.VectorBitSize() <= 256 }

// Apart reports whether the lanes of a vector may work on two parts of slices at the same index in any order. They may if the parts share
// no memory, and if both begin at the same address with elements of the same size, because each lane then has an element of its own.
func Apart[T, U any](a []T, b []U) bool {
	return len(a) == 0 || len(b) == 0 || unsafe.Pointer(&a[0]) == unsafe.Pointer(&b[0]) && unsafe.Sizeof(a[0]) == unsafe.Sizeof(b[0]) ||
		Disjoint(a, b)
}

// Disjoint reports whether two slices share no memory.
func Disjoint[T, U any](a []T, b []U) bool {
	if len(a) == 0 || len(b) == 0 {
		return true
	}
	p, q := uintptr(unsafe.Pointer(&a[0])), uintptr(unsafe.Pointer(&b[0]))
	return p+uintptr(len(a))*unsafe.Sizeof(a[0]) <= q || q+uintptr(len(b))*unsafe.Sizeof(b[0]) <= p
}

// All32 returns the mask of all lanes.
func All32() simd.Mask32s {
	var zero simd.Int32s
	return zero.Equal(zero)
}

// All64 returns the mask of all lanes.
func All64() simd.Mask64s {
	var zero simd.Int64s
	return zero.Equal(zero)
}

// Mask32 returns the mask of all lanes, or of none.
func Mask32(all bool) simd.Mask32s {
	if all {
		return All32()
	}
	return simd.Mask32s{}
}

// Mask64 returns the mask of all lanes, or of none.
func Mask64(all bool) simd.Mask64s {
	if all {
		return All64()
	}
	return simd.Mask64s{}
}

// Not32 returns the lanes that are not in m.
func Not32(m simd.Mask32s) simd.Mask32s { return NotInt32s(m.ToInt32s()).ToMask() }

// Not64 returns the lanes that are not in m.
func Not64(m simd.Mask64s) simd.Mask64s { return NotInt64s(m.ToInt64s()).ToMask() }

// Without32 returns the lanes of m that are not in n.
func Without32(m, n simd.Mask32s) simd.Mask32s { return m.And(Not32(n)) }

// Without64 returns the lanes of m that are not in n.
func Without64(m, n simd.Mask64s) simd.Mask64s { return m.And(Not64(n)) }

// Choose32 returns the lanes of x that are in m, and those of y that are not in m. It chooses between numbers, because Go 1.27.0 to 1.27.4
// does not compile some operations on masks of 512 bits of which one part is used twice.
func Choose32(m, x, y simd.Mask32s) simd.Mask32s {
	return x.ToInt32s().IfElse(m, y.ToInt32s()).ToMask()
}

// Choose64 returns the lanes of x that are in m, and those of y that are not in m.
func Choose64(m, x, y simd.Mask64s) simd.Mask64s {
	return x.ToInt64s().IfElse(m, y.ToInt64s()).ToMask()
}

// slowAny32 is Any32 where package simd/archsimd has nothing better.
func slowAny32(m simd.Mask32s) bool {
	var a [most]int32
	m.ToInt32s().Store(a[:])
	any := int32(0)
	for i := range a { // not a copy of a
		any |= a[i]
	}
	return any != 0
}

// slowAny64 is Any64 where package simd/archsimd has nothing better.
func slowAny64(m simd.Mask64s) bool {
	var a [most / 2]int64
	m.ToInt64s().Store(a[:])
	any := int64(0)
	for i := range a { // not a copy of a
		any |= a[i]
	}
	return any != 0
}

var (
	places32 = [most]int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	places64 = [most / 2]int64{0, 1, 2, 3, 4, 5, 6, 7}
)

// Lanes32 returns the number of each lane.
func Lanes32() simd.Int32s { return simd.LoadInt32s(places32[:]) }

// Lanes64 returns the number of each lane.
func Lanes64() simd.Int64s { return simd.LoadInt64s(places64[:]) }

// far is a distance from zero from which sums of a place and a lane could wrap around.
const far = 1 << 62

// Against32 returns numbers that compare with [Lanes32] as n does with place + lane: a lane's number is less than the result in the lane if
// place + lane is less than n, and so on.
func Against32(place, n int) simd.Int32s {
	if place > -far && place < far && n > -far && n < far {
		return simd.BroadcastInt32s(int32(min(max(n-place, -1), most)))
	}
	var a [most]int32
	for i := range a {
		switch at := place + i; {
		case at < n:
			a[i] = int32(i + 1)
		case at > n:
			a[i] = int32(i - 1)
		default:
			a[i] = int32(i)
		}
	}
	return simd.LoadInt32s(a[:])
}

// Against64 is [Against32] for [Lanes64].
func Against64(place, n int) simd.Int64s {
	if place > -far && place < far && n > -far && n < far {
		return simd.BroadcastInt64s(int64(min(max(n-place, -1), most)))
	}
	var a [most / 2]int64
	for i := range a {
		switch at := place + i; {
		case at < n:
			a[i] = int64(i + 1)
		case at > n:
			a[i] = int64(i - 1)
		default:
			a[i] = int64(i)
		}
	}
	return simd.LoadInt64s(a[:])
}

// Bound32 returns n, or the nearest number that compares as n does with places of 31 bits.
func Bound32(n int) simd.Int32s { return simd.BroadcastInt32s(int32(min(max(n, -1), 1<<31-1))) }

// Bound64 returns n.
func Bound64(n int) simd.Int64s { return simd.BroadcastInt64s(int64(n)) }

// Int32s returns int32(place + lane).
func Int32s(place int) simd.Int32s { return simd.BroadcastInt32s(int32(place)).Add(Lanes32()) }

// Int64s returns int64(place + lane).
func Int64s(place int) simd.Int64s { return simd.BroadcastInt64s(int64(place)).Add(Lanes64()) }

// Float32s returns float32(place + lane).
func Float32s(place int) simd.Float32s {
	if place >= -1<<31 && place < 1<<31-most {
		return Int32s(place).ConvertToFloat32()
	}
	var a [most]float32
	for i := range a {
		a[i] = float32(place + i)
	}
	return simd.LoadFloat32s(a[:])
}

// Float64s returns float64(place + lane).
func Float64s(place int) simd.Float64s {
	var a [most / 2]float64
	for i := range a {
		a[i] = float64(place + i)
	}
	return simd.LoadFloat64s(a[:])
}
