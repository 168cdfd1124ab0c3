//go:build (linux || darwin || windows) && (amd64 || arm64)

package dlpack_test

import (
	"context"
	"fmt"
	"log"

	"github.com/go-halyard/halyard/buffer/array"
	"github.com/go-halyard/halyard/buffer/dlpack"
	"github.com/go-halyard/halyard/coherence"
)

// An array is lent to another library, which here is this package again, and that library writes to it.
func Example() {
	ctx := context.Background()
	a, err := array.From([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	if err != nil {
		log.Fatal(err)
	}
	column, err := a.Select(1, 2)
	if err != nil {
		log.Fatal(err)
	}
	m, err := dlpack.ExportArray(ctx, column, dlpack.WithMode(coherence.ReadWrite))
	if err != nil {
		log.Fatal(err)
	}
	t, err := m.Tensor()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.CapsuleName(), t.DeviceType, t.DeviceID, t.Type, t.Shape, t.Strides)

	// What a consumer of the struct does.
	taken, view, err := dlpack.Import[float32](ctx, m)
	if err != nil {
		log.Fatal(err)
	}
	if err := view.Set(ctx, 60, 1); err != nil {
		log.Fatal(err)
	}
	fmt.Println(a.Close() != nil) // it is lent
	if err := taken.Close(); err != nil {
		log.Fatal(err)
	}
	values, err := a.Values(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(values, a.Close())
	// Output:
	// dltensor_versioned 1 0 float32 [2] [3]
	// true
	// [1 2 3 4 5 60] <nil>
}
