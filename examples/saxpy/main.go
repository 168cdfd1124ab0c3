// Saxpy runs an OpenCL kernel of its own on coherent buffers, on every OpenCL device there is.
//
// The library moves data and says where it is; compiling and launching kernels is the
// program's affair. This program compiles its kernel in the context that the library made, and
// launches it on the queue behind a stream, with the memory that leases lead to. The buffers
// have brought what the kernel reads, in order with the stream, and afterwards know that the
// host's copy of y is old. On a CPU, host and device share the memory and nothing is
// copied.
//
//	go run -tags opencl ./examples/saxpy
//
// HALYARD_OPENCL_MEMORY forces a tier of memory, and with it one of three ways to give a kernel an
// address: as unified shared memory, as shared virtual memory, or as a cl_mem.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

const elements = 1 << 20

// errSkip means that there is nothing here to run the kernel on.
var errSkip = errors.New("skipped")

func main() {
	err := run(context.Background(), os.Stdout)
	switch {
	case errors.Is(err, errSkip):
		fmt.Println(err)
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) error {
	ran := 0
	for _, r := range hal.List(ctx) {
		if r.Backend != "opencl" {
			continue
		}
		if r.Err != nil {
			return fmt.Errorf("%w: no OpenCL device: %w", errSkip, r.Err)
		}
		for _, info := range r.Devices {
			if info.MemoryModel == "" {
				fmt.Fprintf(out, "%s: not used: %s\n", info.Model, info.Driver)
				continue
			}
			if err := runOn(ctx, info.Name(), out); err != nil {
				return fmt.Errorf("%s: %w", info.Model, err)
			}
			ran++
		}
	}
	if ran == 0 {
		return fmt.Errorf("%w: no OpenCL device", errSkip)
	}
	return nil
}

func runOn(ctx context.Context, name string, out io.Writer) (err error) {
	dev, err := hal.Open(ctx, name)
	if err != nil {
		return err
	}
	defer closing(&err, dev.Close)
	stream, err := dev.NewStream()
	if err != nil {
		return err
	}
	defer closing(&err, stream.Close)
	cl, err := loadOpenCL()
	if err != nil {
		return err
	}
	k, err := build(cl, stream)
	if err != nil {
		return err
	}
	defer closing(&err, k.close)

	x, y := make([]float32, elements), make([]float32, elements)
	for i := range x {
		x[i], y[i] = float32(i%1000), 1
	}
	xb, err := buffer.From(x)
	if err != nil {
		return err
	}
	defer closing(&err, xb.Close)
	yb, err := buffer.From(y)
	if err != nil {
		return err
	}
	defer closing(&err, yb.Close)

	// The device, the host, and the device again, this time on the upper half.
	if err := launch(k, stream, 2, xb, yb); err != nil {
		return err
	}
	if err := xb.Update(ctx, func(s []float32) error {
		for i := range s {
			s[i]++
		}
		return nil
	}); err != nil {
		return err
	}
	xh, err := xb.Slice(elements/2, elements)
	if err != nil {
		return err
	}
	yh, err := yb.Slice(elements/2, elements)
	if err != nil {
		return err
	}
	if err := launch(k, stream, -1, xh, yh); err != nil {
		return err
	}

	return yb.View(ctx, func(got []float32) error {
		for i, v := range got {
			want := 2*x[i] + y[i]
			if i >= elements/2 {
				want -= x[i] + 1
			}
			if v != want {
				return fmt.Errorf("y[%d] = %v, want %v", i, v, want)
			}
		}
		copied := xb.Stats().BytesCopied + yb.Stats().BytesCopied
		fmt.Fprintf(out, "%s, %s: %d elements right, %d bytes copied\n", dev.Info().Model, dev.Info().MemoryModel, len(got), copied)
		return nil
	})
}

// launch enqueues y = a*x + y. It waits for nothing.
func launch(k *kernel, stream *hal.Stream, a float32, x, y *buffer.Buffer[float32]) (err error) {
	xl, err := x.TryAcquire(stream, coherence.Read)
	if err != nil {
		return err
	}
	defer closing(&err, xl.Release)
	yl, err := y.TryAcquire(stream, coherence.ReadWrite)
	if err != nil {
		return err
	}
	defer closing(&err, yl.Release)
	return k.launch(stream, a, xl, yl, y.Len())
}

// closing adds the error of a close to that of its function.
func closing(err *error, close func() error) { *err = errors.Join(*err, close()) }
