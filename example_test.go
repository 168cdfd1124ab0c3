package halyard_test

import (
	"context"
	"fmt"
	"log"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/internal/testing/small"
)

// The host and kernels take turns: each sees what the other has written.
func ExampleBuffer_Update() {
	q := halyard.Open(context.Background(), "host")
	x, y := halyard.New[float32](q, 3), halyard.New[float32](q, 3)
	x.Update(func(s []float32) {
		for i := range s {
			s[i] = float32(i)
		}
	})
	small.Saxpy(q, 10, x, y) // y += 10*x
	y.View(func(s []float32) { fmt.Println(s) })
	if err := q.Close(); err != nil {
		log.Fatal(err)
	}
	// Output: [0 10 20]
}

// A grid of the program's own has a number of threads for each dimension, the width first. Here each thread paints a pixel.
func ExampleQueue_Over() {
	q := halyard.Open(context.Background(), "host")
	image := halyard.New[int32](q, 4*2)
	small.Paint(q.Over(4, 2), small.Frame{Width: 4, Height: 2}, image)
	fmt.Println(image)
	if err := q.Close(); err != nil {
		log.Fatal(err)
	}
	// Output: [0 1 2 3 10 11 12 13]
}

// The bytes of a buffer are looked at as elements of another type. Nothing is copied.
func ExampleAs() {
	q := halyard.Open(context.Background(), "host")
	pixels := halyard.From(q, []uint8{255, 0, 0, 255, 0, 128, 0, 255})
	fmt.Println(halyard.As[[4]uint8](pixels).At(1))
	if err := q.Close(); err != nil {
		log.Fatal(err)
	}
	// Output: [0 128 0 255]
}

// After the first error calls do nothing. Close returns it, with the line of the call that failed.
func ExampleError() {
	q := halyard.Open(context.Background(), "host")
	x := halyard.From(q, []float32{1, 2, 3})
	fmt.Println(x.At(3)) // there is no such element
	fmt.Println(x.Values())
	if err := q.Close(); err != nil {
		fmt.Println(err.(*halyard.Error).Err)
	}
	// Output:
	// 0
	// [0 0 0]
	// At: out of range: element 3 of 3
}
