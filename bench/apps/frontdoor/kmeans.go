package main

import (
	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/examples/kmeans/lloyd"
)

// kmeans divides n points into clusters, with kernels of an example.
func kmeans() error {
	q := halyard.Open(ctx, devices...)
	points, centres, sums, data := halyard.New[[8]float32](q, n), halyard.New[[8]float32](q, lloyd.K), halyard.New[[lloyd.K][9]float32](q, 1024), read[[8]float32](q)
	timed(func() {
		points.SetValues(data)
		centres.SetValues(data[:lloyd.K])
		for range steps {
			sums.Fill([lloyd.K][9]float32{})
			lloyd.Add(q, points, centres, sums)
			lloyd.Move(q, sums, centres)
		}
		centres.View(func([][8]float32) {}) // the host has the result
	})
	write(q, centres.Values())
	return q.Close()
}
