package gomath

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	_ "github.com/go-halyard/halyard/backends"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/internal/testing/everydevice"
	"github.com/go-halyard/halyard/kernel"
)

// numbers are the pairs of special values, random numbers of common size, and random bits.
func numbers() (x, y []float64, n []int64) {
	add := func(a, b float64) { x, y, n = append(x, a), append(y, b), append(n, int64(len(x)*37%4300)-2150) }
	for _, a := range Special {
		for _, b := range Special {
			add(a, b)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		add(r.NormFloat64()*6, r.NormFloat64()*6)
		add(math.Float64frombits(r.Uint64()), math.Float64frombits(r.Uint64()))
	}
	return x, y, n
}

func tiny(x float64) bool { return x != 0 && math.Abs(x) < 0x1p-1022 }

// same reports whether two results have the same bits; all NaNs are the same.
func same(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b }

// nearby reports whether two results are almost the same.
func nearby(a, b float64) bool {
	return same(a, b) || math.Abs(a-b) <= 1e-9*max(1, math.Abs(a))
}

// Functions that are translated from Go's source have Go's bits.
func TestExactly(t *testing.T) {
	x, y, n := numbers()
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		out := halyard.New[[20]float64](q, len(x))
		Exactly(q, halyard.From(q, x), halyard.From(q, y), halyard.From(q, n), out)
		got := out.Values()
		for i := range got {
			want := Exact(x[i], y[i], n[i])
			for j, w := range want {
				if strings.HasPrefix(t.Name(), "TestExactly/vulkan") && (tiny(x[i]) || tiny(y[i]) || tiny(w) || tiny(float64(float32(y[i])))) {
					continue // Mesa reads subnormal numbers as 0
				}
				assert.True(t, same(w, got[i][j]), "result %d of %g, %g, %d: %g, and Go has %g", j, x[i], y[i], n[i], got[i][j], w)
			}
		}
	})
}

// Functions that call others, whose last bits differ between devices, are almost equal.
func TestGamma(t *testing.T)        { nearly(t, Gamma, OfFloats["gamma"]) }
func TestBesselFirst(t *testing.T)  { nearly(t, BesselFirst, first) }
func TestBesselSecond(t *testing.T) { nearly(t, BesselSecond, second) }

func nearly(t *testing.T, launch func(q kernel.Queue, x kernel.Vector[float64], n kernel.Vector[int64], out kernel.Vector[[8]float64]), want func(float64, int64) [8]float64) {
	x, _, n := numbers()
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		if strings.Contains(t.Name(), "vulkan") {
			t.Skip("Mesa's driver for processors compiles these kernels for minutes")
		}
		out := halyard.New[[8]float64](q, len(x))
		launch(q, halyard.From(q, x), halyard.From(q, n), out)
		for i, got := range out.Values() {
			if math.Abs(x[i]) > 1e6 && !math.IsInf(x[i], 0) || tiny(x[i]) {
				continue // results for large angles differ
			}
			for j, w := range want(x[i], n[i]) {
				assert.True(t, nearby(w, got[j]), "result %d of %g, %d: %g, and Go has %g", j, x[i], n[i], got[j], w)
			}
		}
	})
}

func TestComplexPowers(t *testing.T) { nearlyComplex(t, ComplexPowers, powers) }
func TestComplexAngles(t *testing.T) { nearlyComplex(t, ComplexAngles, angles) }
func TestComplexArcs(t *testing.T)   { nearlyComplex(t, ComplexArcs, arcs) }

func nearlyComplex(t *testing.T, launch func(q kernel.Queue, z, w kernel.Vector[complex128], out kernel.Vector[[8]complex128]), want func(z, w complex128) [8]complex128) {
	x, y, _ := numbers()
	var z, w []complex128
	for i := range x {
		if (math.Abs(x[i]) < 30 || math.IsInf(x[i], 0)) && (math.Abs(y[i]) < 30 || math.IsInf(y[i], 0)) && !tiny(x[i]) && !tiny(y[i]) {
			z, w = append(z, complex(x[i], y[i])), append(w, complex(y[i]/8, x[i]/8))
		}
	}
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		if strings.Contains(t.Name(), "vulkan") {
			t.Skip("Mesa's driver for processors compiles these kernels for minutes")
		}
		out := halyard.New[[8]complex128](q, len(z))
		launch(q, halyard.From(q, z), halyard.From(q, w), out)
		for i, got := range out.Values() {
			for j, v := range want(z[i], w[i]) {
				assert.True(t, nearby(real(v), real(got[j])) && nearby(imag(v), imag(got[j])), "result %d of %g, %g: %g, and Go has %g", j, z[i], w[i], got[j], v)
			}
		}
	})
}

// Quotients of two words are Go's. Where Go panics, devices have 0.
func TestDivide(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var hi, lo, y []uint64
	for range 2000 {
		hi, lo, y = append(hi, r.Uint64()>>r.IntN(64)), append(lo, r.Uint64()>>r.IntN(64)), append(y, r.Uint64()>>r.IntN(64))
	}
	everydevice.Run(t, func(t *testing.T, q *halyard.Queue) {
		out, none := halyard.New[[11]uint64](q, len(y)), halyard.New[[2]uint64](q, 3)
		Divide(q, halyard.From(q, hi), halyard.From(q, lo), halyard.From(q, y), out)
		for i, got := range out.Values() {
			assert.Equal(t, divided(hi[i], lo[i], y[i]), got, "%d, %d / %d", hi[i], lo[i], y[i])
		}
		if strings.Contains(t.Name(), "host") {
			return // the launch would fail
		}
		Faulty(q, halyard.From(q, []uint64{0, 5, 6}), none)
		if got := none.Values(); q.Err() == nil {
			assert.Equal(t, [][2]uint64{{}, {}, {0xd555555555555556, 3}}, got)
		}
	})
}
