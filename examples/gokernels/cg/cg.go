// Package cg solves linear equations by conjugate gradients, with kernels that are all in Go. The equations are the Laplacian of a square grid: at each
// point its value is four times the point minus its four neighbours, which are 0 beyond the border.
package cg

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
)

const (
	tolerance = 1e-6 // of the residual's length, divided by that of the right-hand side
	between   = 16   // steps between two looks at the residual
)

// Solve returns the solution for the right-hand side b, which has n×n elements, and the number of steps that it took. The host only enqueues work, and
// reads a number every few steps.
func Solve(ctx context.Context, stream *hal.Stream, n int, b []float32) (x []float32, steps int, err error) {
	var errs []error
	vector := func(made *buffer.Buffer[float32], err error) *buffer.Buffer[float32] {
		errs = append(errs, err)
		return made
	}
	xs, q := vector(buffer.New[float32](n*n)), vector(buffer.New[float32](n*n))
	r, p := vector(buffer.From(b)), vector(buffer.From(b))
	sums, rr, next, pq := vector(buffer.New[float32](n)), vector(buffer.New[float32](1)), vector(buffer.New[float32](1)), vector(buffer.New[float32](1))
	defer func() { err = errors.Join(err, hal.CloseAll(xs, q, r, p, sums, rr, next, pq)) }()
	dot := func(a, b, out *buffer.Buffer[float32]) error {
		return errors.Join(ProductOn(ctx, stream, hal.Blocks(n).Of(block), a, b, sums, n), TotalOn(ctx, stream, hal.Blocks(1).Of(block), sums, out))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, 0, err
	}
	if err := dot(r, r, rr); err != nil {
		return nil, 0, err
	}
	limit, err := rr.At(ctx, 0)
	limit *= tolerance * tolerance
	for residual := limit + 1; err == nil && residual > limit; {
		err = errors.Join(
			LaplaceOn(ctx, stream, hal.Over(n, n), p, q, n),
			dot(p, q, pq),
			AdvanceOn(ctx, stream, hal.Over(n*n), xs, r, p, q, rr, pq),
			dot(r, r, next),
			DirectOn(ctx, stream, hal.Over(n*n), p, r, next, rr))
		rr, next = next, rr
		if steps++; err == nil && steps%between == 0 {
			residual, err = rr.At(ctx, 0)
		}
		if steps > 10*n {
			return nil, steps, fmt.Errorf("no solution after %d steps", steps)
		}
	}
	if err != nil {
		return nil, steps, err
	}
	x = make([]float32, n*n)
	return x, steps, xs.CopyOut(ctx, x)
}
