package main

import (
	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/hal"
)

// heatRepeated is heat with its launches as a step of two, because the buffers take turns. The number of steps has to be even.
func heatRepeated() error {
	q := halyard.Open(ctx, device)
	now, next := halyard.New[float32](q, (n+2)*n), halyard.New[float32](q, (n+2)*n)
	inner := now.Slice(n, (n+1)*n)
	plate := read(q)
	twice := q.Record(func(q *halyard.Queue) {
		Spread(q, n, now, next.Slice(n, (n+1)*n))
		Spread(q, n, next, inner)
	})
	timed(func() {
		inner.SetValues(plate)
		for range steps / 2 {
			twice.Run()
		}
		now.View(func([]float32) {}) // the host has the result
	})
	write(q, inner.Values())
	return q.Close()
}

// cgRepeated is cg in the same way.
func cgRepeated() error {
	q := halyard.Open(ctx, device)
	vector := func(n int) *halyard.Buffer[float32] { return halyard.New[float32](q, n) }
	x, r, p, ap := vector(n*n), vector(n*n), vector(n*n), vector(n*n)
	sums, ones, rr, next, pq := vector(group), vector(group), vector(1), vector(1), vector(1)
	ones.Fill(1)
	product := func(q *halyard.Queue, a, b, to *halyard.Buffer[float32]) {
		Dot(q.Grid(hal.Blocks(group).Of(group)), a, b, sums)
		Dot(q.Grid(hal.Blocks(1).Of(group)), sums, ones, to)
	}
	twice := q.Record(func(q *halyard.Queue) {
		for range 2 {
			Laplace(q, n, p, ap)
			product(q, p, ap, pq)
			Advance(q, x, r, p, ap, rr, pq)
			product(q, r, r, next)
			Direct(q, p, r, next, rr)
			rr, next = next, rr
		}
	})
	right := read(q)
	timed(func() {
		x.Fill(0)
		r.SetValues(right)
		p.CopyFrom(r)
		product(q, r, r, rr)
		for range steps / 2 {
			twice.Run()
		}
		x.View(func([]float32) {}) // the host has the result
	})
	write(q, x.Values())
	return q.Close()
}
