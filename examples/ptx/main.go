// Ptx runs a kernel of its own on a coherent buffer.
//
// The library moves data and says where it is; compiling and launching kernels is the
// program's affair. This program brings a kernel as PTX text, loads it with the CUDA driver
// that the library uses too, and launches it on a lease: the buffer has copied what the
// kernel reads, in order with the stream, and afterwards knows that the host's copy of y is
// old.
//
//	go run -tags cuda ./examples/ptx
//
// It needs NVIDIA hardware, and says so where there is none.
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

func run(ctx context.Context, out io.Writer) (err error) {
	dev, err := hal.Open(ctx, "cuda:0")
	switch {
	case errors.Is(err, hal.ErrNotBuilt), errors.Is(err, hal.ErrUnavailable):
		return fmt.Errorf("%w: no NVIDIA device: %w", errSkip, err)
	case err != nil:
		return err
	}
	defer closing(&err, dev.Close)
	if dev.Info().Simulated {
		return fmt.Errorf("%w: %s runs no kernels", errSkip, dev.Info().Model)
	}
	fmt.Fprintf(out, "device: %s\n", dev.Info().Model)

	stream, err := dev.NewStream()
	if err != nil {
		return err
	}
	defer closing(&err, stream.Close)
	kernel, err := loadSaxpy(dev.Info().Ordinal)
	if err != nil {
		return err
	}
	defer closing(&err, kernel.close)

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

	if err := launch(kernel, stream, xb, yb); err != nil {
		return err
	}
	return yb.View(ctx, func(got []float32) error {
		for i, v := range got {
			if want := 2*x[i] + 1; v != want {
				return fmt.Errorf("y[%d] = %v, want %v", i, v, want)
			}
		}
		fmt.Fprintf(out, "y = 2x + y on %d elements: right\n", len(got))
		return nil
	})
}

// launch enqueues y = 2x + y. It waits for nothing.
func launch(k *saxpy, stream *hal.Stream, x, y *buffer.Buffer[float32]) (err error) {
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
	return k.launch(stream.Handle(), xl.Pointer(), yl.Pointer(), 2, y.Len())
}

// closing adds the error of a close to that of its function.
func closing(err *error, close func() error) { *err = errors.Join(*err, close()) }
