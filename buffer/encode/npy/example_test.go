package npy_test

import (
	"bytes"
	"fmt"
	"log"

	"github.com/go-halyard/halyard/buffer/encode/npy"
)

func Example() {
	var file bytes.Buffer
	if _, err := npy.Write(&file, false, []int{2, 3}, []float32{1, 2, 3, 4, 5, 6}); err != nil {
		log.Fatal(err)
	}
	header, data, err := npy.Decode[float32](file.Bytes())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(header.Shape, data)
	// Output: [2 3] [1 2 3 4 5 6]
}
