// Cg solves a system of linear equations by conjugate gradients, on one device and on several: the Laplacian of a square grid, whose value at
// each point is four times the point less its four neighbours, and 0 beyond the border.
//
//	go run -tags "cuda opencl hip" ./examples/cg
//
// Each device has some rows of the grid. What it needs of its neighbours' rows comes with a slice that overlaps theirs, and the two numbers that all
// devices need in each step are buffers of one element: no line of the program exchanges anything. The host enqueues, and looks at a result every few
// steps alone.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/examples/internal/every"
	"github.com/go-halyard/halyard/hal"
)

const (
	tolerance = 1e-6 // of the residual's length, by that of the right-hand side
	between   = 16   // steps between two looks at the residual
)

// numbers are buffers of float32.
type numbers = *buffer.Buffer[float32]

// result is a solution and what it took.
type result struct {
	x      []float32
	steps  int
	copied uint64 // bytes, without those of b and x
}

// solve solves A·x = b on an n×n grid, with some rows for each stream.
func solve(ctx context.Context, streams []*hal.Stream, n int, b []float32) (res result, err error) {
	if len(streams) == 0 || n < len(streams) || len(b) != n*n {
		return res, hal.Errorf("cg", hal.ErrInvalidArgument, "%d streams, %d rows, %d numbers", len(streams), n, len(b))
	}
	s := solver{ctx: ctx, n: n}
	for i, stream := range streams {
		s.parts = append(s.parts, part{stream, n * i / len(streams), n * (i + 1) / len(streams)})
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
	r, e1 = buffer.From(b) // of x = 0 the residual is b, and so is the first direction
	p, e2 = buffer.From(b)
	s.failed(e1, e2)

	s.dot(r, r, sums, rr)
	limit := tolerance * tolerance * s.number(rr)
	for s.err == nil {
		s.laplace(p, q)
		s.dot(p, q, sums, pq)
		s.advance(x, r, p, q, rr, pq)
		s.dot(r, r, sums, next)
		s.direct(p, r, next, rr)
		rr, next = next, rr
		res.steps++
		if res.steps%between == 0 && s.number(rr) <= limit {
			break
		}
		if res.steps >= 10*n {
			return res, fmt.Errorf("no solution after %d steps", res.steps)
		}
	}
	if s.err != nil {
		return res, s.err
	}
	for _, v := range []numbers{p, q, sums, rr, next, pq} {
		res.copied += v.Stats().BytesCopied
	}
	res.x = make([]float32, n*n)
	return res, x.CopyOut(ctx, res.x)
}

// part is what one device works on: the rows [lo, hi).
type part struct {
	stream *hal.Stream
	lo, hi int
}

// onHost calls fn with the streams of devices of the host that have memory of their own.
func onHost(ctx context.Context, devices int, fn func([]*hal.Stream) error) (err error) {
	backend := host.New(host.Options{Name: "part", Discrete: devices})
	var streams []*hal.Stream
	var made []io.Closer
	defer func() { err = errors.Join(err, hal.CloseAll(made...)) }()
	for i := range devices {
		dev, err := hal.OpenWith(ctx, backend, i+1) // 0 is the unified one
		if err != nil {
			return err
		}
		made = append(made, dev)
		stream, err := dev.NewStream()
		if err != nil {
			return err
		}
		made = append(made, stream)
		streams = append(streams, stream)
	}
	return fn(streams)
}

// problem returns a solution of small whole numbers, and the right-hand side that belongs to it, exactly.
func problem(n int) (x, b []float32) {
	x = make([]float32, n*n)
	for i := range x {
		x[i] = float32(i*7%19 - 9 + i/n%5)
	}
	return x, plainLaplace(x, n)
}

func plainLaplace(p []float32, n int) []float32 {
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

// distance is the largest difference of two vectors.
func distance(a, b []float32) (d float32) {
	for i := range a {
		d = max(d, a[i]-b[i], b[i]-a[i])
	}
	return d
}

func main() {
	const n = 64
	ctx := context.Background()
	want, b := problem(n)
	show := func(streams ...*hal.Stream) (string, error) {
		res, err := solve(ctx, streams, n, b)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%d equations on %d devices: %d steps, %.1g off, %d bytes copied", len(b), len(streams), res.steps, distance(res.x, want), res.copied), nil
	}
	_, err := every.Device(ctx, os.Stdout, func(stream *hal.Stream) (string, error) { return show(stream) })
	if err != nil {
		log.Fatal(err)
	}
	err = onHost(ctx, 2, func(streams []*hal.Stream) error {
		line, err := show(streams...)
		fmt.Println(line)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
}
