package main

import (
	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel/algo"
	"github.com/go-halyard/halyard/kernel/grid"
)

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
		a[i] = b[i] + scalar*c[i]
	}
}

//halyard:kernel
func nstream(t grid.Thread, a, b, c []float64) {
	if i := t.Global(0); i < len(a) {
		a[i] += b[i] + scalar*c[i]
	}
}

// inner adds up the products of a and b. Each block writes the sum of its part.
//
//halyard:kernel
func inner(t grid.Thread, a, b []float64, sums grid.Out[float64]) {
	end, mine := (t.Block(0)+1)*len(a)/t.Blocks(0), 0.0
	for i := t.Block(0)*len(a)/t.Blocks(0) + t.Local(0); i < end; i += group {
		mine += a[i] * b[i]
	}
	all := grid.BlockSum(t, mine)
	if t.Local(0) == 0 {
		sums[t.Block(0)] = all
	}
}

func stream() error {
	q := halyard.Open(ctx, devices...)
	a, b, c, sums, total := halyard.New[float64](q, n), halyard.New[float64](q, n), halyard.New[float64](q, n), halyard.New[float64](q, group), halyard.New[float64](q, 1)
	a.Fill(0.1)
	b.Fill(0.2)
	for step := range steps {
		clock("copy", step > 0, func() { Copies(q, a, c); q.Sync() })
		clock("mul", step > 0, func() { Mul(q, b, c); q.Sync() })
		clock("add", step > 0, func() { Add(q, a, b, c); q.Sync() })
		clock("triad", step > 0, func() { Triad(q, a, b, c); q.Sync() })
		clock("nstream", step > 0, func() { Nstream(q, a, b, c); q.Sync() })
		clock("dot", step > 0, func() { Inner(q.Grid(hal.Blocks(group).Of(group)), a, b, sums); algo.Sum(q, sums, total); q.Sync() })
	}
	write(q, a.Values(), b.Values(), c.Values(), total.Values())
	return q.Close()
}
