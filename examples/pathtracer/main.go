// Pathtracer draws spheres of matt, metal and glass into the file spheres.png, by following rays of light backwards, on the best device.
//
//	go run -tags "cuda opencl hip vulkan" ./examples/pathtracer
package main

import (
	"context"
	"image/png"
	"log"
	"os"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/examples/pathtracer/spheres"
)

func main() {
	q := halyard.Open(context.Background())
	picture := spheres.Draw(q, 640, 360, 64, spheres.Scene)
	f, err := os.Create("spheres.png")
	q.Fail(err)
	q.Fail(png.Encode(f, picture))
	q.Fail(f.Close())
	if err := q.Close(); err != nil {
		log.Fatal(err)
	}
}
