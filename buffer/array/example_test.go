package array_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer/array"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// A window of a matrix is worked on by the host, while the matrix is on a device: the window alone
// is moved.
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

	a, err := array.New[float32](100, 100)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	elements, err := a.Buffer()
	if err != nil {
		log.Fatal(err)
	}
	lease, err := elements.TryAcquire(stream, coherence.ReadWrite)
	if err != nil {
		log.Fatal(err)
	}
	if err := lease.Release(); err != nil {
		log.Fatal(err)
	}

	window, err := a.Slice(array.Between(10, 13), array.Between(50, 54))
	if err != nil {
		log.Fatal(err)
	}
	err = window.Update(ctx, func(g array.Accessor[float32]) error {
		for n, p := range g.All() {
			*p += float32(n)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	last, err := a.At(ctx, 12, 53)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(window.Shape(), window.Strides(), last)
	fmt.Println(elements.Stats().BytesCopied, "bytes copied of", 4*a.Len())
	// Output:
	// [3 4] [100 1] 11
	// 48 bytes copied of 40000
}

func ExampleArray_Pack() {
	ctx := context.Background()
	a, err := array.From([]int32{0, 1, 2, 3, 4, 5}, 2, 3)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	column, err := a.Select(1, 1)
	if err != nil {
		log.Fatal(err)
	}
	_, err = column.Buffer()
	fmt.Println(err)
	packed, err := column.Pack(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer packed.Close()
	fmt.Println(packed.Shape(), packed.Strides())
	// Output:
	// Buffer: not supported: shape [2] with strides [3] is not contiguous; Pack makes a contiguous copy
	// [2] [1]
}

func ExampleArray_Reshape() {
	a, err := array.From([]int32{0, 1, 2, 3, 4, 5}, 2, 3)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	b, err := a.Reshape(3, 2)
	if err != nil {
		log.Fatal(err)
	}
	values, err := b.Values(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(b.Shape(), values)
	t, err := a.Transpose()
	if err != nil {
		log.Fatal(err)
	}
	_, err = t.Reshape(t.Len())
	fmt.Println(err)
	// Output:
	// [3 2] [0 1 2 3 4 5]
	// Reshape: not supported: shape [3 2] with strides [1 3] has no row-major view of shape [6]; Pack makes a copy that can be reshaped
}

func ExampleReadNPY() {
	ctx := context.Background()
	a, err := array.From([]float64{1, 2, 3, 4}, 2, 2)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	var file bytes.Buffer
	if _, err := a.WriteNPY(ctx, &file); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q\n", file.String()[10:70])
	b, err := array.ReadNPY[float64](&file)
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()
	v, err := b.At(ctx, 1, 0)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(b.Shape(), v)
	// Output:
	// "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), } "
	// [2 2] 3
}
