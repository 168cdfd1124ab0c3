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

// slowFourUint32s is FourUint32s where there is nothing better.
func slowFourUint32s(s []uint32, at, step int) (a, b, c, d simd.Uint32s) {
	return GatherUint32s(s, at, step), GatherUint32s(s, at+1, step), GatherUint32s(s, at+2, step), GatherUint32s(s, at+3, step)
}
