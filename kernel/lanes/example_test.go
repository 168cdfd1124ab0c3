//go:build go1.27 && goexperiment.simd && (amd64 || arm64 || wasm)

package lanes_test

import (
	"fmt"
	"simd"

	"github.com/go-halyard/halyard/kernel/lanes"
)

// What a generated file does for y[i] = max(x[i], 2): as many threads at once as a vector has lanes, and the rest one by one.
func Example() {
	x := []float32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	y := make([]float32, len(x))
	at := 0
	if lanes.Hardware() && lanes.Apart(y, x) {
		n := lanes.Lanes32().Len()
		for ; at <= len(x)-n; at += n {
			lanes.MaxFloat32s(simd.LoadFloat32s(x[at:]), simd.BroadcastFloat32s(2)).Store(y[at:])
		}
	}
	for ; at < len(x); at++ {
		y[at] = max(x[at], 2)
	}
	fmt.Println(y)
	// Output:
	// [2 2 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16]
}
