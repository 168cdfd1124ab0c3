package gokernels

import "github.com/go-halyard/halyard/kernel/grid"

const scalar = 0.4

//halyard:kernel
func copies(t grid.Thread, a []float64, c grid.Out[float64]) {
	if i := t.Global(0); i < len(c) {
		c[i] = a[i]
	}
}

//halyard:kernel
func mul(t grid.Thread, b grid.Out[float64], c []float64) {
	if i := t.Global(0); i < len(b) {
		b[i] = scalar * c[i]
	}
}

//halyard:kernel
func add(t grid.Thread, a, b []float64, c grid.Out[float64]) {
	if i := t.Global(0); i < len(c) {
		c[i] = a[i] + b[i]
	}
}

//halyard:kernel
func triad(t grid.Thread, a grid.Out[float64], b, c []float64) {
	if i := t.Global(0); i < len(a) {
		a[i] = b[i] + float64(scalar*c[i])
	}
}

//halyard:kernel
func nstream(t grid.Thread, a, b, c []float64) {
	if i := t.Global(0); i < len(a) {
		a[i] += b[i] + float64(scalar*c[i])
	}
}

// inner adds up the products of a and b. Each block writes the sum of its threads.
//
//halyard:kernel
func inner(t grid.Thread, a, b []float64, sums grid.Out[float64]) {
	part := grid.Shared[[block]float64](t)
	me, sum := t.Local(0), 0.0
	for i := t.Global(0); i < len(a); i += block * t.Blocks(0) {
		sum += float64(a[i] * b[i])
	}
	part[me] = sum
	for half := block / 2; half > 0; half /= 2 {
		t.Barrier()
		if me < half {
			part[me] += part[me+half]
		}
	}
	if me == 0 {
		sums[t.Block(0)] = part[0]
	}
}
