// Hello is the first program of the README: go run -tags "cuda opencl hip vulkan" ./examples/hello
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/kernel/grid"
)

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

//halyard:kernel
func saxpy(t grid.Thread, a float32, x, y []float32) {
	if i := t.Global(0); i < len(y) {
		y[i] += float32(a * x[i]) // float32( ) rounds the product, as all devices do
	}
}

func main() {
	q := halyard.Open(context.Background()) // a GPU if there is one; halyard.Open(ctx, "cuda:0") for another device
	x, y := halyard.From(q, []float32{1, 2, 3}), halyard.From(q, []float32{10, 20, 30})
	Saxpy(q, 2, x, y)                 // a thread for each element of y; it does not wait
	fmt.Println(q, y)                 // waits, and copies back
	if err := q.Close(); err != nil { // the first error of all calls; frees everything
		log.Fatal(err)
	}
}
