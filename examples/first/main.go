// First shows streams and leases: a device writes part of a buffer, and the host reads all of it.
//
//	go run -tags "cuda opencl hip vulkan" ./examples/first
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"

	_ "github.com/go-halyard/halyard/backends" // the backends that the build tags select
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

func main() {
	ctx := context.Background()
	dev := must(hal.Default(ctx)) // a GPU if there is one, else another device, else the host
	stream := must(dev.NewStream())
	x := must(buffer.New[float32](1 << 20)) // reads as zeros, at every place
	part := must(x.Slice(1000, 2000))       // a view of 1000 elements

	lease := must(part.TryAcquire(stream, coherence.Overwrite))            // does not wait
	check(stream.Fill(lease.Region(), hal.Pattern32(math.Float32bits(7)))) // or your kernel: lease.Pointer(), stream.Handle()
	check(lease.Release())                                                 // later accesses wait for this point of the stream

	check(x.View(ctx, func(s []float32) error { // waits, and copies back what the device has written
		fmt.Println(s[999], s[1000], s[1999], s[2000])
		return nil
	}))
	fmt.Println(x.Stats().BytesCopied, "of", x.Size(), "bytes were copied")
	check(errors.Join(x.Close(), stream.Close(), dev.Close()))
}

func must[T any](v T, err error) T { check(err); return v }

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
