package npy_test

import (
	"bytes"
	"context"
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

func ExampleSource() {
	var file bytes.Buffer
	if _, err := npy.Write(&file, false, []int{2, 3}, []float32{1, 2, 3, 4, 5, 6}); err != nil {
		log.Fatal(err)
	}
	file.Truncate(file.Len() - 4) // a download that was cut off
	header, source, err := npy.Source[float32](&file)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(header.Shape)
	// pipeline.Run takes the source and makes these calls:
	_, err = source(context.Background(), make([]float32, 1024))
	fmt.Println(err)
	// Output:
	// [2 3]
	// read npy: invalid argument: the header states 24 bytes of elements, for shape [2 3], but the file has 20: unexpected EOF
}
