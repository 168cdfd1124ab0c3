//go:build go1.27 && goexperiment.simd && (amd64 || arm64 || wasm)

package lanes

import "unsafe"

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
