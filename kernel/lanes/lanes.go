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
func Hardware() bool { return !simd.Emulated() && simd.VectorBitSize() <= 256 && hasFMA() }

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

var (
	places32 = [most]int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	places64 = [most / 2]int64{0, 1, 2, 3, 4, 5, 6, 7}
)

// far is a distance from zero from which sums of a place and a lane could wrap around.
const far = 1 << 62

// Bound32 returns n, or the nearest number that compares as n does with places of 31 bits.
func Bound32(n int) simd.Int32s { return simd.BroadcastInt32s(int32(min(max(n, -1), 1<<31-1))) }

// Bound64 returns n.
func Bound64(n int) simd.Int64s { return simd.BroadcastInt64s(int64(n)) }

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
