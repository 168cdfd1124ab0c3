package kernel_test

import (
	"context"
	"fmt"
	"log"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

// One kernel with a body for every device: built with -tags "cuda opencl hip" it runs on whatever the machine has.
func Example() {
	program := kernel.New(kernel.Source{
		Portable: `
KERNEL void saxpy(f32 a, const GLOBAL f32 *x, GLOBAL f32 *y, u64 n) {
	u64 i = INDEX(0);
	if (i < n) y[i] += a * x[i];
}`,
		Go: kernel.Functions{"saxpy": kernel.Go(func(b *kernel.Block) {
			a, x, y := kernel.Number[float32](b, 0), kernel.Slice[float32](b, 1), kernel.Slice[float32](b, 2)
			from, to := kernel.Threads(b, 0, len(y))
			for i := from; i < to; i++ {
				y[i] += a * x[i]
			}
		})},
	})
	saxpy := program.Kernel("saxpy")

	ctx := context.Background()
	dev, err := hal.Open(ctx, "host:0")
	if err != nil {
		log.Fatal(err)
	}
	stream, err := dev.NewStream()
	if err != nil {
		log.Fatal(err)
	}
	x, err := buffer.From([]float32{1, 2, 3})
	if err != nil {
		log.Fatal(err)
	}
	y, err := buffer.From([]float32{10, 20, 30})
	if err != nil {
		log.Fatal(err)
	}
	defer hal.CloseAll(dev, stream, x, y)

	err = saxpy.Launch(ctx, stream, hal.Over(3), kernel.Value(float32(2)), kernel.In(x), kernel.InOut(y), kernel.Value(uint64(3)))
	if err != nil {
		log.Fatal(err)
	}
	err = y.View(ctx, func(v []float32) error {
		fmt.Println(v)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: [12 24 36]
}
