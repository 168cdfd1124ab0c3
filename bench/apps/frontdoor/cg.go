package main

import (
	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel/grid"
)

const group = 64 // threads of a block that adds up

// laplace multiplies p by the matrix: each point of a square four times, less its neighbours.
//
//halyard:kernel
func laplace(t grid.Thread, n int, p []float32, q grid.Out[float32]) {
	if j, i := t.Global(0), t.Global(1); j < n && i < n {
		at, around := i*n+j, float32(0)
		if i > 0 {
			around += p[at-n]
		}
		if i < n-1 {
			around += p[at+n]
		}
		if j > 0 {
			around += p[at-1]
		}
		if j < n-1 {
			around += p[at+1]
		}
		q[at] = 4*p[at] - around
	}
}

// dot adds up the products of a and b. Each block writes the sum of its part.
//
//halyard:kernel
func dot(t grid.Thread, a, b []float32, sums grid.Out[float32]) {
	end, mine := (t.Block(0)+1)*len(a)/t.Blocks(0), float32(0)
	for i := t.Block(0)*len(a)/t.Blocks(0) + t.Local(0); i < end; i += group {
		mine += a[i] * b[i]
	}
	all := grid.BlockSum(t, mine)
	if t.Local(0) == 0 {
		sums[t.Block(0)] = all
	}
}

//halyard:kernel
func advance(t grid.Thread, x, r, p, q, rr, pq []float32) {
	if i := t.Global(0); i < len(x) {
		x[i] += rr[0] / pq[0] * p[i]
		r[i] -= rr[0] / pq[0] * q[i]
	}
}

//halyard:kernel
func direct(t grid.Thread, p, r, now, before []float32) {
	if i := t.Global(0); i < len(p) {
		p[i] = r[i] + now[0]/before[0]*p[i]
	}
}

// cg solves equations on a square by conjugate gradients. The host only enqueues.
func cg() error {
	q := open()
	vector := func(n int) *halyard.Buffer[float32] { return halyard.New[float32](q, n) }
	x, r, p, ap := vector(n*n), vector(n*n), vector(n*n), vector(n*n)
	blocks := max(2*group, 2*q.Device().Info().Compute.Units) // at 512×512 points the pieces of two vectors fit into the first cache
	sums, ones, rr, next, pq := vector(blocks), vector(blocks), vector(1), vector(1), vector(1)
	ones.Fill(1)
	product := func(a, b, to *halyard.Buffer[float32]) {
		Dot(q.Grid(hal.Blocks(blocks).Of(group)), a, b, sums)
		Dot(q.Grid(hal.Blocks(1).Of(group)), sums, ones, to)
	}
	right := read[float32](q)
	timed(func() {
		x.Fill(0)
		r.SetValues(right)
		p.CopyFrom(r)
		product(r, r, rr)
		for range steps {
			Laplace(q, n, p, ap)
			product(p, ap, pq)
			Advance(q, x, r, p, ap, rr, pq)
			product(r, r, next)
			Direct(q, p, r, next, rr)
			rr, next = next, rr
		}
		x.View(func([]float32) {}) // the host has the result
	})
	write(q, x.Values())
	return q.Close()
}
