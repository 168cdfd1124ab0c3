//go:build go1.27 && goexperiment.simd && (amd64 || arm64 || wasm)

package lanes

import (
	"math"
	"math/rand/v2"
	"simd"
	"testing"
)

func exps(x, y []float32, a, b []float64) {
	ExpFloat32s(simd.LoadFloat32s(x)).Store(y)
	ExpFloat64s(simd.LoadFloat64s(a)).Store(b)
}

// The exponential function of a vector has in each lane the bits of that of package math.
func TestExp(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 8))
	var x, y [most]float32
	var a, b [most / 2]float64
	for n := range 20_000 {
		far := []float64{1, 40, 120, 690, 800}[n%5]
		for k := range x {
			x[k] = float32((2*r.Float64() - 1) * far)
			a[k/2] = (2*r.Float64() - 1) * far
		}
		if n%5 == 4 {
			x[r.IntN(4)], a[r.IntN(2)] = math.Float32frombits(r.Uint32()), floats[r.IntN(len(floats))]
			x[r.IntN(4)] = float32(floats[r.IntN(len(floats))])
		}
		exps(x[:], y[:], a[:], b[:])
		for k := range width32() {
			if want := float32(math.Exp(float64(x[k]))); !same(float64(want), float64(y[k])) {
				t.Fatalf("the exponential function of %v is %v, and should be %v", x[k], y[k], want)
			}
		}
		for k := range width32() / 2 {
			if want := math.Exp(a[k]); !same(want, b[k]) {
				t.Fatalf("the exponential function of %v is %v, and should be %v", a[k], b[k], want)
			}
		}
	}
}
