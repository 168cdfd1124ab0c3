package mpi

import (
	"math/rand/v2"
	"testing"
	"unsafe"
)

// Integers are added one by one, whatever is carried, and wherever they begin and end.
func TestSumsWrapAround(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = []byte{0, 1, 127, 128, 255, byte(rng.Uint32())}[rng.IntN(6)]
		}
		return b
	}
	for n := range 40 {
		for from := range 3 {
			x, y := random(2*n+8), random(2*n+8)
			want := append([]byte(nil), y...)
			for i := from; i < from+n; i++ {
				want[i] += x[i]
			}
			addBytes(unsafe.Pointer(&x[from]), unsafe.Pointer(&y[from]), n)
			if string(y) != string(want) {
				t.Fatalf("%d bytes from %d: %v, not %v", n, from, y, want)
			}
			a, b := unsafe.Slice((*uint16)(unsafe.Pointer(&x[0])), n+4), unsafe.Slice((*uint16)(unsafe.Pointer(&y[0])), n+4)
			pairs := append([]uint16(nil), b...)
			for i := from; i < from+n; i++ {
				pairs[i] += a[i]
			}
			addPairs(unsafe.Pointer(&a[from]), unsafe.Pointer(&b[from]), n)
			for i := range b {
				if b[i] != pairs[i] {
					t.Fatalf("%d pairs from %d: element %d is %d, not %d", n, from, i, b[i], pairs[i])
				}
			}
		}
	}
}
