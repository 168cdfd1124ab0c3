//go:build go1.27 && goexperiment.simd && (amd64 || arm64 || wasm)

package vectors

import (
	"math"
	"math/rand/v2"
	"simd"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/gridgen"
	"github.com/go-halyard/halyard/kernel/lanes"
)

// loop is a kernel with its arguments.
type loop struct {
	name    string
	n, rows int
	row     func(gridgen.Row)
	vectors func(gridgen.Row) gridgen.Row
	results func() []uint64 // the bits of all that it writes
	reset   func()
}

func bits[T float32 | float64 | uint16](all ...[]T) (found []uint64) {
	for _, s := range all {
		for _, v := range s {
			found = append(found, math.Float64bits(float64(v)))
		}
	}
	return found
}

func random(r *rand.Rand, n int) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = r.Float32()*4 + 0.01
	}
	return s
}

// loops returns the kernels with n threads in a row. A kernel that writes what it reads begins each time with the same numbers.
func loops(n int) []loop {
	r := rand.New(rand.NewPCG(1, 2))
	x, y, y0 := random(r, n), make([]float32, n), random(r, n)
	from, to := random(r, n*10), make([]float32, n*10)
	px, py, pz, mass := random(r, n), random(r, n), random(r, n), random(r, n)
	ax, ay, az := make([]float32, n), make([]float32, n), make([]float32, n)
	out := make([]uint16, n)
	a, b, sums := make([]float64, 16*n), make([]float64, 16*n), make([]float64, n)
	for i := range a {
		a[i], b[i] = r.Float64(), r.Float64()
	}
	share, strike, years, call, put := random(r, n), random(r, n), random(r, n), make([]float32, n), make([]float32, n)
	none := func() {}
	return []loop{
		{"saxpy", n, 1, func(r gridgen.Row) { saxpyRow(r, 1.5, x, y) }, func(r gridgen.Row) gridgen.Row { return saxpyVectors(r, 1.5, x, y) },
			func() []uint64 { return bits(y) }, func() { copy(y, y0) }},
		{"heat", n, 8, func(r gridgen.Row) { heatRow(r, n, from, to) }, func(r gridgen.Row) gridgen.Row { return heatVectors(r, n, from, to) },
			func() []uint64 { return bits(to) }, none},
		{"n-body", n, 1, func(r gridgen.Row) { attractRow(r, px, py, pz, mass, ax, ay, az) },
			func(r gridgen.Row) gridgen.Row { return attractVectors(r, px, py, pz, mass, ax, ay, az) },
			func() []uint64 { return bits(ax, ay, az) }, none},
		{"Mandelbrot", n, 1, func(r gridgen.Row) { mandelbrotRow(r, int32(n), 200, out) }, func(r gridgen.Row) gridgen.Row { return mandelbrotVectors(r, int32(n), 200, out) },
			func() []uint64 { return bits(out) }, none},
		{"dot", n, 1, func(r gridgen.Row) { productsRow(r, a, b, sums, 16) }, func(r gridgen.Row) gridgen.Row { return productsVectors(r, a, b, sums, 16) },
			func() []uint64 { return bits(sums) }, none},
		{"Black-Scholes", n, 1, func(r gridgen.Row) { priceRow(r, 0.02, 0.3, share, strike, years, call, put) },
			func(r gridgen.Row) gridgen.Row { return priceVectors(r, 0.02, 0.3, share, strike, years, call, put) },
			func() []uint64 { return bits(call, put) }, none},
	}
}

func (l loop) run(vectors bool) {
	b := kernel.Block{Size: [3]uint32{uint32(l.n), uint32(l.rows), 1}, Grid: [3]uint32{1, 1, 1}}
	for r := range gridgen.Rows(&b) {
		if vectors {
			r = l.vectors(r)
		}
		l.row(r)
	}
}

// The threads of a row write the same bits as vectors as one by one.
func TestVectorsGiveTheBitsOfTheLoop(t *testing.T) {
	if !lanes.Hardware() {
		t.Skip("the processor has no vectors")
	}
	for _, n := range []int{1, 15, 16, 17, 100, 1000} {
		for _, l := range loops(n) {
			if l.name == "Black-Scholes" && lanes.Fuses {
				continue // it has products that Go fuses with sums there
			}
			l.reset()
			l.run(false)
			want := l.results()
			l.reset()
			l.run(true)
			assert.Equal(t, want, l.results(), "%s, %d threads", l.name, n)
		}
	}
}

// BenchmarkRows runs each kernel one by one, and as vectors.
func BenchmarkRows(b *testing.B) {
	if !lanes.Hardware() {
		b.Skip("the processor has no vectors")
	}
	b.Logf("vectors have %d bits", simd.VectorBitSize())
	for _, l := range loops(2048) {
		if l.name == "Black-Scholes" && lanes.Fuses {
			continue
		}
		l.reset()
		b.Run(l.name+"/loop", func(b *testing.B) {
			for b.Loop() {
				l.run(false)
			}
		})
		b.Run(l.name+"/vectors", func(b *testing.B) {
			for b.Loop() {
				l.run(true)
			}
		})
	}
}
