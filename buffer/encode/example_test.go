package encode_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/encode"
)

func Example() {
	ctx := context.Background()
	x, err := buffer.From([]uint8("coherent buffers"))
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()

	// A part of it, as any code of the standard library reads files.
	part, err := io.ReadAll(io.NewSectionReader(encode.Of(ctx, x), 9, 6))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", part)

	var all bytes.Buffer
	if _, err := io.Copy(&all, io.NewSectionReader(encode.Of(ctx, x), 0, int64(x.Size()))); err != nil {
		log.Fatal(err)
	}
	fmt.Println(all.String())
	// Output:
	// buffer
	// coherent buffers
}
