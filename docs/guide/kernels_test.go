package guide

import (
	"context"
	"fmt"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// What the page about kernels begins with, on a device with memory of its own.
func Example_kernels() {
	ctx := context.Background()
	dev, err := hal.OpenWith(ctx, host.New(host.Options{Name: "guide", Discrete: 1}), 1)
	check(err)
	stream, err := dev.NewStream()
	check(err)
	x, err := buffer.From([]float32{1, 2, 3})
	check(err)
	defer func() { check(hal.CloseAll(dev, stream, x)) }()

	twice := kernel.New(kernel.Source{
		Portable: `KERNEL void twice(GLOBAL f32 *x, u32 n) { u64 i = INDEX(0); if (i < n) x[i] *= 2; }`,
		Go: kernel.Functions{"twice": kernel.Go(func(b *kernel.Block) {
			x := kernel.Slice[float32](b, 0)
			for i, end := kernel.Threads(b, 0, len(x)); i < end; i++ {
				x[i] *= 2
			}
		})},
	}).Kernel("twice")
	check(twice.Launch(ctx, stream, hal.Over(3), kernel.InOut(x), kernel.Value(uint32(3)))) // does not wait
	fmt.Println(x.At(ctx, 2))                                                               // waits
	// Output: 6 <nil>
}
