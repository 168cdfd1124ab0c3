package buffer_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// A device whose memory the host cannot see: what the buffer does not copy, it does not have.
func Example() {
	ctx := context.Background()
	dev, err := hal.OpenWith(ctx, host.New(host.Options{Discrete: 1}), 1)
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	stream, err := dev.NewStream()
	if err != nil {
		log.Fatal(err)
	}
	defer stream.Close()

	x, err := buffer.From([]int32{1, 2, 3, 4})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()

	lease, err := x.TryAcquire(stream, coherence.ReadWrite)
	if err != nil {
		log.Fatal(err)
	}
	// In place of a kernel: the second half becomes 7.
	half, err := lease.Region().Sub(8, 8)
	if err != nil {
		log.Fatal(err)
	}
	if err := stream.Fill(half, hal.Pattern32(7)); err != nil {
		log.Fatal(err)
	}
	if err := lease.Release(); err != nil {
		log.Fatal(err)
	}

	fmt.Println(x.State().Name)
	if err := x.View(ctx, func(s []int32) error {
		fmt.Println(s)
		return nil
	}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(x.State().Name, x.Stats().BytesCopied, "bytes copied")
	// Output:
	// DEVICE_DIRTY
	// [1 2 7 7]
	// SYNCHRONIZED 32 bytes copied
}

func ExampleBuffer_Slice() {
	ctx := context.Background()
	dev, err := hal.OpenWith(ctx, host.New(host.Options{Discrete: 1}), 1)
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()

	x, err := buffer.From(make([]float64, 1000))
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	if err := x.SyncTo(ctx, dev); err != nil {
		log.Fatal(err)
	}
	part, err := x.Slice(10, 20)
	if err != nil {
		log.Fatal(err)
	}
	if err := part.Update(ctx, func(s []float64) error { s[0] = 1; return nil }); err != nil {
		log.Fatal(err)
	}
	before := x.Stats().BytesCopied
	if err := x.SyncTo(ctx, dev); err != nil {
		log.Fatal(err)
	}
	fmt.Println(x.Stats().BytesCopied-before, "bytes copied for the 80 that changed")
	// Output: 80 bytes copied for the 80 that changed
}

func ExampleBuffer_CopyIn() {
	ctx := context.Background()
	x, err := buffer.New[float32](3)
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	if err := x.CopyIn(ctx, []float32{1, 2, 3}); err != nil {
		log.Fatal(err)
	}
	// ... work on devices ...
	result := make([]float32, x.Len())
	if err := x.CopyOut(ctx, result); err != nil {
		log.Fatal(err)
	}
	fmt.Println(result)
	// Output: [1 2 3]
}

// A buffer grows by a copy, made where its elements are current: all of these are on the device, so nothing moves.
func ExampleBuffer_CopyFrom() {
	ctx := context.Background()
	dev, err := hal.OpenWith(ctx, host.New(host.Options{Discrete: 1}), 1)
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	stream, err := dev.NewStream()
	if err != nil {
		log.Fatal(err)
	}
	defer stream.Close()
	b, err := buffer.New[int32](3)
	if err != nil {
		log.Fatal(err)
	}
	if err := b.FillOn(ctx, stream, 7); err != nil {
		log.Fatal(err)
	}
	longer, err := buffer.New[int32](5)
	if err != nil {
		log.Fatal(err)
	}
	first, err := longer.Slice(0, b.Len())
	if err != nil {
		log.Fatal(err)
	}
	if err := first.CopyFrom(ctx, b); err != nil {
		log.Fatal(err)
	}
	fmt.Println(b.Stats().BytesCopied, "bytes copied to the host")
	if err := b.Close(); err != nil {
		log.Fatal(err)
	}
	if err := longer.View(ctx, func(x []int32) error { fmt.Println(x); return nil }); err != nil {
		log.Fatal(err)
	}
	if err := longer.Close(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 0 bytes copied to the host
	// [7 7 7 0 0]
}

// Two buffers take turns: while the device works on one chunk, the host fills the next. Only View waits, for the chunk that it reads.
func Example_doubleBuffering() {
	ctx := context.Background()
	dev, err := hal.OpenWith(ctx, host.New(host.Options{Discrete: 1}), 1)
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	const slots, chunks = 2, 4
	var chunk [slots]*buffer.Buffer[int32]
	var stream [slots]*hal.Stream
	for i := range slots {
		if chunk[i], err = buffer.New[int32](3, buffer.WithPinnedHost(dev)); err != nil {
			log.Fatal(err)
		}
		defer chunk[i].Close()
		if stream[i], err = dev.NewStream(); err != nil {
			log.Fatal(err)
		}
		defer stream[i].Close()
	}
	for i := range chunks + slots {
		x, s := chunk[i%slots], stream[i%slots]
		if i >= slots {
			err = x.View(ctx, func(got []int32) error { fmt.Println(got); return nil })
		}
		if err == nil && i < chunks {
			err = x.Overwrite(ctx, func(fill []int32) error {
				for k := range fill {
					fill[k] = int32(i)
				}
				return nil
			})
			if err == nil {
				err = work(ctx, s, x)
			}
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// [0 0 7]
	// [1 1 7]
	// [2 2 7]
	// [3 3 7]
}

// work enqueues what the device does with a chunk: here it sets the last element.
func work(ctx context.Context, s *hal.Stream, x *buffer.Buffer[int32]) error {
	l, err := x.Acquire(ctx, s, coherence.ReadWrite)
	if err != nil {
		return err
	}
	last, err := l.Region().Sub(8, 4)
	if err == nil {
		err = s.Fill(last, hal.Pattern32(7))
	}
	return errors.Join(err, l.Release())
}
