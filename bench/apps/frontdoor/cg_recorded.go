package main

import (
	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/hal"
)

// cgRecorded is cg with its launches as a step of two, because two numbers take turns. The number of steps has to be even.
func cgRecorded() error {
	q := open()
	vector := func(n int) *halyard.Buffer[float32] { return halyard.New[float32](q, n) }
	x, r, p, ap := vector(n*n), vector(n*n), vector(n*n), vector(n*n)
	blocks := max(2*group, 2*q.Device().Info().Compute.Units) // at 512×512 points the pieces of two vectors fit into the first cache
	sums, ones, rr, next, pq := vector(blocks), vector(blocks), vector(1), vector(1), vector(1)
	ones.Fill(1)
	product := func(q *halyard.Queue, a, b, to *halyard.Buffer[float32]) {
		Dot(q.Grid(hal.Blocks(blocks).Of(group)), a, b, sums)
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
	right := read[float32](q)
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
