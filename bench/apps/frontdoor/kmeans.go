package main

import (
	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/examples/kmeans/lloyd"
)

// kmeans divides n points into clusters, with kernels of an example.
func kmeans() error {
	q := halyard.Open(ctx, devices...)
	points, centres := halyard.New[float32](q, 8*n), halyard.New[float32](q, 8*lloyd.K)
	sums := halyard.New[[lloyd.K][9]float32](q, 1024)
	data := read(q)
	timed(func() {
		points.SetValues(data)
		centres.SetValues(data[:8*lloyd.K])
		for range steps {
			sums.Fill([lloyd.K][9]float32{})
			lloyd.Add(q, halyard.As[[8]float32](points), halyard.As[[8]float32](centres), sums)
			lloyd.Move(q, sums, halyard.As[[8]float32](centres))
		}
		centres.View(func([]float32) {}) // the host has the result
	})
	write(q, centres.Values())
	return q.Close()
}
