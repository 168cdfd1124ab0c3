package pipeline_test

import (
	"context"
	"fmt"
	"io"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/buffer/pipeline"
	"github.com/go-halyard/halyard/hal"
)

// Six numbers pass through a device, four at a time.
func ExampleRun() {
	ctx := context.Background()
	dev, err := hal.Open(ctx, "host:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	numbers := []float32{1, 2, 3, 4, 5, 6}
	source := func(_ context.Context, fill []float32) (int, error) {
		n := copy(fill, numbers)
		if numbers = numbers[n:]; len(numbers) == 0 {
			return n, io.EOF
		}
		return n, nil
	}
	process := func(w pipeline.Work) (int, error) { // or a kernel: w.In.Pointer(), w.Results.Pointer(), w.N, w.Stream.Handle()
		in := w.In.Region()
		out, err := w.Results.Region().Sub(0, in.Len)
		if err != nil {
			return 0, err
		}
		return w.N, w.Stream.Copy(out, in)
	}
	sink := func(_ context.Context, results []float32) error {
		fmt.Println(results)
		return nil
	}
	if err := pipeline.Run(ctx, dev, 4, source, process, sink); err != nil {
		fmt.Println(err)
	}
	// Output:
	// [1 2 3 4]
	// [5 6]
}
