package main

import (
	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/kernel/grid"
)

// spread lets heat spread for a step on a square, whose border is cold. from has one row more than to on each side.
//
//halyard:kernel
func spread(t grid.Thread, n int, from []float32, to grid.Out[float32]) {
	if j, i := t.Global(0), t.Global(1); j < n && i < n {
		at, left, right := (i+1)*n+j, float32(0), float32(0)
		if j > 0 {
			left = from[at-1]
		}
		if j < n-1 {
			right = from[at+1]
		}
		to[i*n+j] = from[at] + 0.1*(from[at-n]+from[at+n]+left+right-4*from[at])
	}
}

func heat() error {
	q := open()
	now, next, plate := halyard.New[float32](q, (n+2)*n), halyard.New[float32](q, (n+2)*n), read[float32](q)
	timed(func() {
		now.Slice(n, (n+1)*n).SetValues(plate)
		for range steps {
			Spread(q, n, now, next.Slice(n, (n+1)*n))
			now, next = next, now
		}
		now.View(func([]float32) {}) // the host has the result
	})
	write(q, now.Slice(n, (n+1)*n).Values())
	return q.Close()
}
