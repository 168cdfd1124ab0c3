// Package cg solves linear equations by conjugate gradients, with kernels that are all in Go. The equations are the Laplacian of a square grid: at each
// point its value is four times the point minus its four neighbours, which are 0 beyond the border.
package cg

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

import (
	"fmt"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/hal"
)

const (
	tolerance = 1e-6 // of the residual's length, divided by that of the right-hand side
	between   = 16   // steps between two looks at the residual
)

// Solve returns the solution for the right-hand side b, which has n×n elements, and the number of steps that it took. The host only enqueues work, and
// reads a number every few steps. An error stays with the queue.
func Solve(q *halyard.Queue, n int, b []float32) (x []float32, steps int) {
	vector := func(n int) *halyard.Buffer[float32] { return halyard.New[float32](q, n) }
	xs, ap, r, p := vector(n*n), vector(n*n), halyard.From(q, b), halyard.From(q, b)
	sums, rr, next, pap := vector(n), vector(1), vector(1), vector(1)
	dot := func(a, b, out *halyard.Buffer[float32]) {
		Product(q.Grid(hal.Blocks(n).Of(block)), a, b, sums, n)
		Total(q.Grid(hal.Blocks(1).Of(block)), sums, out)
	}
	dot(r, r, rr)
	limit := rr.At(0) * tolerance * tolerance
	for residual := limit + 1; q.Err() == nil && residual > limit; {
		Laplace(q, p, ap, n)
		dot(p, ap, pap)
		Advance(q, xs, r, p, ap, rr, pap)
		dot(r, r, next)
		Direct(q, p, r, next, rr)
		rr, next = next, rr
		if steps++; steps%between == 0 {
			residual = rr.At(0)
		}
		if steps > 10*n {
			q.Fail(fmt.Errorf("no solution after %d steps", steps))
		}
	}
	x = xs.Values()
	for _, v := range []*halyard.Buffer[float32]{xs, ap, r, p, sums, rr, next, pap} {
		v.Close()
	}
	return x, steps
}
