package gokernels

import (
	"context"
	"fmt"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/examples/gokernels/saxpy"
	"github.com/go-halyard/halyard/hal"
)

// What the page about kernels in Go begins with, on a device with memory of its own.
func Example_goKernels() {
	ctx := context.Background()
	dev, err := hal.OpenWith(ctx, host.New(host.Options{Name: "guide", Discrete: 1}), 1)
	check(err)
	stream, err := dev.NewStream()
	check(err)
	x, err := buffer.From([]float32{1, 2, 3})
	check(err)
	y, err := buffer.From([]float32{10, 20, 30})
	check(err)
	defer func() { check(hal.CloseAll(dev, stream, x, y)) }()

	check(saxpy.SaxpyOn(ctx, stream, hal.Over(3), 2, x, y)) // does not wait
	fmt.Println(y.At(ctx, 2))                               // waits
	// Output: 36 <nil>
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
