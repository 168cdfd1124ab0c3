// Package random has kernels in Go that take random numbers.
package random

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

import (
	"github.com/go-halyard/halyard/kernel/grid"
	"github.com/go-halyard/halyard/kernel/grid/rand"
)

// numbers writes what a program for the host would get from the same generators.
//
//halyard:kernel
func numbers(t grid.Thread, seed uint64, n int32, words []uint32, wide []uint64, singles []float32, doubles []float64) {
	if i := t.Global(0); i < len(words) {
		r := rand.New(seed, i-1)
		for range i % 7 {
			r.Uint32()
		}
		words[i] = r.Uint32()
		wide[i] = r.Uint64() ^ uint64(r.IntN(int(n)))
		singles[i] = r.Float32()
		doubles[i] = r.Float64()
	}
}

//halyard:kernel
func normals(t grid.Thread, seed uint64, x []float64) {
	if i := t.Global(0); i < len(x) {
		r := rand.New(seed, i)
		x[i] = r.NormFloat64()
	}
}

// philox computes the known answers.
//
//halyard:kernel
func philox(t grid.Thread, in, out []uint32) {
	if i := t.Global(0); i < len(out)/4 {
		x := rand.Philox([4]uint32{in[6*i], in[6*i+1], in[6*i+2], in[6*i+3]}, [2]uint32{in[6*i+4], in[6*i+5]})
		for j, v := range x {
			out[4*i+j] = v
		}
	}
}

// estimate counts random points of a square that are within a circle.
//
//halyard:kernel
func estimate(t grid.Thread, seed uint64, points int32, inside []uint32) {
	if i := t.Global(0); i < len(inside) {
		r := rand.New(seed, i)
		for range points {
			if x, y := r.Float32(), r.Float32(); float32(x*x)+float32(y*y) < 1 {
				inside[i]++
			}
		}
	}
}
