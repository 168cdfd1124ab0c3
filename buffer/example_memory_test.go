package buffer_test

import (
	"context"
	"fmt"
	"log"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// discrete opens a device whose memory the host cannot see, with a stream.
func discrete() (*hal.Device, *hal.Stream) {
	dev, err := hal.OpenWith(context.Background(), host.New(host.Options{Discrete: 1}), 1)
	check(err)
	stream, err := dev.NewStream()
	check(err)
	return dev, stream
}

func ExampleAdopt() {
	dev, stream := discrete()
	defer dev.Close()
	defer stream.Close()
	mem, err := dev.Alloc(hal.KindDevice, 16, 0)
	check(err)
	check(stream.Fill(mem.All(), hal.Pattern32(7)))
	check(stream.Sync(context.Background()))

	x, err := buffer.Adopt[int32](mem)
	check(err)
	defer x.Close() // closes the memory as well
	check(x.View(context.Background(), func(s []int32) error {
		fmt.Println(s)
		return nil
	}))
	// Output: [7 7 7 7]
}

func ExampleAdoptSlice() {
	data := []float64{1, 2, 3}
	x, err := buffer.AdoptSlice(data, func() { fmt.Println("nobody uses the slice any more") })
	check(err)
	check(x.Set(context.Background(), 1, 9))
	check(x.Close())
	fmt.Println(data)
	// Output:
	// nobody uses the slice any more
	// [1 9 3]
}

func ExampleAllocator() {
	dev, stream := discrete()
	defer dev.Close()
	defer stream.Close()
	p, err := pool.New(dev)
	check(err)
	defer p.Close()
	for range 3 {
		x, err := buffer.New[float32](1024, buffer.WithAllocator(dev, p))
		check(err)
		check(x.FillOn(ctx, stream, 1))
		check(x.Close()) // the pool keeps the replica's memory for the next
	}
	check(stream.Sync(context.Background()))
	fmt.Println(p.Stats().Allocs, "replicas were made,", p.Stats().Misses, "of them of new memory")
	// Output: 3 replicas were made, 1 of them of new memory
}

func ExampleBuffer_AcquireRanges() {
	ctx := context.Background()
	dev, stream := discrete()
	defer dev.Close()
	defer stream.Close()
	x, err := buffer.From(make([]int32, 1000))
	check(err)
	defer x.Close()

	lease, err := x.AcquireRanges(ctx, stream, coherence.Read, []buffer.Range{{Lo: 0, Hi: 10}, {Lo: 500, Hi: 510}})
	check(err)
	fmt.Println(lease.Region().Len, "bytes are in reach,", x.Stats().BytesCopied, "were copied")
	check(lease.Release())
	// Output: 2040 bytes are in reach, 80 were copied
}

func ExampleReinterpret() {
	x, err := buffer.From([]uint32{0x3f800000, 0x40000000})
	check(err)
	defer x.Close()
	f, err := buffer.Reinterpret[float32](x)
	check(err)
	check(f.View(context.Background(), func(s []float32) error {
		fmt.Println(s)
		return nil
	}))
	// Output: [1 2]
}

func ExampleTotals() {
	dev, stream := discrete()
	defer dev.Close()
	defer stream.Close()
	x, err := buffer.From(make([]float64, 100))
	check(err)
	defer x.Close()

	before := buffer.Totals()
	for range 3 {
		check(x.Prefetch(stream)) // copies the first time
	}
	moved := buffer.Totals().Sub(before)
	fmt.Println(moved.Copies, "copy of", moved.BytesCopied, "bytes")
	// Output: 1 copy of 800 bytes
}
