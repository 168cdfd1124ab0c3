// Cg solves a system of linear equations by conjugate gradients, on one device and on several. The equations are the Laplacian of a square grid: at
// each point its value is four times the point minus its four neighbours, which are 0 beyond the border.
//
//	go run -tags "cuda opencl hip" ./examples/cg
//
// Each device has some rows of the grid. Its kernel reads a slice that overlaps its neighbours' rows, so the buffer copies the rows that it needs of
// them. The two numbers that all devices need in each step are buffers of one element. So no line of the program exchanges anything. The host only
// enqueues work, and reads a result every few steps.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/examples/cg/solve"
	"github.com/go-halyard/halyard/examples/internal/every"
	"github.com/go-halyard/halyard/hal"
)

// onHost makes devices of the host backend that have memory of their own, and calls fn with a stream of each.
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
	want, b := solve.Problem(n)
	show := func(streams ...*hal.Stream) (string, error) {
		res, err := solve.Solve(ctx, streams, n, b, nil)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%d equations on %d devices: %d steps, %.1g off, %d bytes copied", len(b), len(streams), res.Steps, distance(res.X, want), res.Copied), nil
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
