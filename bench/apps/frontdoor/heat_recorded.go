package main

import "github.com/go-halyard/halyard"

// heatRecorded is heat with its launches as a step of two, because the buffers take turns. The number of steps has to be even.
func heatRecorded() error {
	q := open()
	now, next := halyard.New[float32](q, (n+2)*n), halyard.New[float32](q, (n+2)*n)
	inner := now.Slice(n, (n+1)*n)
	plate := read[float32](q)
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
