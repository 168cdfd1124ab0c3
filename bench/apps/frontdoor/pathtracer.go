package main

import (
	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/examples/pathtracer/spheres"
)

// pathtracer draws a picture of n×n points, with the kernel of an example. A step is a ray of each point.
func pathtracer() error {
	q := halyard.Open(ctx, devices...)
	data := read[float32](q)
	scene, picture := halyard.New[float32](q, len(data)), halyard.New[uint8](q, 4*n*n)
	timed(func() {
		scene.SetValues(data)
		spheres.Trace(q, int32(n), int32(n), int32(steps), scene, picture)
		picture.View(func([]uint8) {}) // the host has the result
	})
	write(q, picture.Values())
	return q.Close()
}
