// Saxpy computes y = a*x + y with one kernel in C, on every device of the machine, the host included.
//
//	go run -tags "cuda opencl hip" ./examples/saxpy
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

var saxpy = kernel.New(kernel.Source{
	Portable: `KERNEL void saxpy(f32 a, const GLOBAL f32 *x, GLOBAL f32 *y, u64 n) { u64 i = INDEX(0); if (i < n) y[i] += a * x[i]; }`,
	Go: kernel.Functions{"saxpy": kernel.Go(func(b *kernel.Block) { // for the host: it runs all threads of a block
		a, x, y := kernel.Number[float32](b, 0), kernel.Slice[float32](b, 1), kernel.Slice[float32](b, 2)
		for i, end := kernel.Threads(b, 0, len(y)); i < end; i++ {
			y[i] += a * x[i]
		}
	})},
}).Kernel("saxpy")

func main() {
	devices, err := hal.Devices(context.Background())
	for _, d := range devices {
		switch e := run(context.Background(), d.Name()); {
		case e == nil:
			fmt.Printf("%s: right (%s)\n", d.Name(), d.Model)
		case errors.Is(e, hal.ErrUnsupported), errors.Is(e, hal.ErrUnavailable): // no kernels there, or no compiler for them
			fmt.Printf("%s: not used: %v\n", d.Name(), e)
		default:
			err = errors.Join(err, e)
		}
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, device string) error {
	q := halyard.Open(ctx, device)
	x, y := halyard.From(q, slices.Repeat([]float32{1, 2, 3, 4}, 1<<18)), halyard.From(q, slices.Repeat([]float32{10, 20, 30, 40}, 1<<18))
	n := y.Len()
	q.Fail(saxpy.Launch(ctx, q.Stream(), hal.Over(n), kernel.Value(float32(2)), kernel.In(x), kernel.InOut(y), kernel.Value(uint64(n))))
	if !slices.Equal(y.Values(), slices.Repeat([]float32{12, 24, 36, 48}, n/4)) {
		q.Fail(fmt.Errorf("%s: wrong result", device))
	}
	return q.Close()
}
