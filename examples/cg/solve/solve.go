// Package solve solves linear equations by conjugate gradients on coherent buffers, for the example cg.
package solve

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
)

const (
	tolerance = 1e-6 // of the residual's length, divided by that of the right-hand side
	// Between is the number of steps between two looks at the residual.
	Between = 16
)

// numbers are buffers of float32.
type numbers = *buffer.Buffer[float32]

// Result is a solution and what it took.
type Result struct {
	X      []float32
	Steps  int
	Copied uint64 // bytes, without those of b and x
}

// Solve solves A·x = b on an n×n grid, with some rows for each stream, where A is the Laplacian. Every Between steps it calls look, unless that is nil, with
// the square of the residual's length, and ends if look says so. Without look it ends when the residual is a millionth of b's length.
func Solve(ctx context.Context, streams []*hal.Stream, n int, b []float32, look func(steps int, residual float32) (end bool)) (res Result, err error) {
	if len(streams) == 0 || n < len(streams) || len(b) != n*n {
		return res, hal.Errorf("cg", hal.ErrInvalidArgument, "%d streams, %d rows, %d numbers", len(streams), n, len(b))
	}
	s := solver{ctx: ctx, n: n}
	for i, stream := range streams {
		s.parts = append(s.parts, part{stream: stream, lo: n * i / len(streams), hi: n * (i + 1) / len(streams)})
	}
	var x, p, q, r, sums, rr, next, pq numbers
	defer func() { err = errors.Join(err, hal.CloseAll(x, p, q, r, sums, rr, next, pq)) }()
	for _, v := range []struct {
		to  *numbers
		len int
	}{{&x, n * n}, {&q, n * n}, {&sums, n}, {&rr, 1}, {&next, 1}, {&pq, 1}} {
		made, err := buffer.New[float32](v.len)
		if err != nil {
			return res, err
		}
		*v.to = made
	}
	var e1, e2 error
	r, e1 = buffer.From(b) // for x = 0 the residual is b, and so is the first direction
	p, e2 = buffer.From(b)
	if s.failed(e1, e2) {
		return res, s.err
	}
	s.divide(x, r, p, q, sums)

	pAndQ := func(t *part) (numbers, numbers) { return t.p, t.q }
	rAndR := func(t *part) (numbers, numbers) { return t.r, t.r }
	s.dot(rAndR, sums, rr)
	limit := tolerance * tolerance * s.number(rr)
	for s.err == nil {
		s.laplace()
		s.dot(pAndQ, sums, pq)
		s.advance(rr, pq)
		s.dot(rAndR, sums, next)
		s.direct(next, rr)
		rr, next = next, rr
		res.Steps++
		if res.Steps%Between == 0 {
			residual := s.number(rr)
			if look != nil && look(res.Steps, residual) || look == nil && residual <= limit {
				break
			}
		}
		if res.Steps >= 10*n {
			return res, fmt.Errorf("no solution after %d steps", res.Steps)
		}
	}
	if s.err != nil {
		return res, s.err
	}
	for _, v := range []numbers{p, q, sums, rr, next, pq} {
		res.Copied += v.Stats().BytesCopied
	}
	res.X = make([]float32, n*n)
	return res, x.CopyOut(ctx, res.X)
}

// part is what one device works on: the rows [lo, hi).
type part struct {
	stream     *hal.Stream
	lo, hi     int
	x, r, p, q numbers
	wide       numbers // p with the rows beside it
	sums       numbers // of its rows
}

// Problem returns a solution of small whole numbers, and the exact right-hand side for it.
func Problem(n int) (x, b []float32) {
	x = make([]float32, n*n)
	for i := range x {
		x[i] = float32(i*7%19 - 9 + i/n%5)
	}
	return x, laplacian(x, n)
}

func laplacian(p []float32, n int) []float32 {
	q := make([]float32, n*n)
	for i := range q {
		q[i] = 4 * p[i]
		if i >= n {
			q[i] -= p[i-n]
		}
		if i%n > 0 {
			q[i] -= p[i-1]
		}
		if i%n < n-1 {
			q[i] -= p[i+1]
		}
		if i < n*(n-1) {
			q[i] -= p[i+n]
		}
	}
	return q
}
