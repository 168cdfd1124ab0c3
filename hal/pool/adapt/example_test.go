package adapt_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	_ "github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
	"github.com/go-halyard/halyard/hal/pool/adapt"
)

// A part of a program gets a share of the memory, and what it holds is listed.
func Example() {
	dev, err := hal.Open(context.Background(), "host:0")
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	p, err := pool.New(dev)
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()

	tracked := adapt.Track(p)
	scratch := adapt.Limit(tracked, 1<<20)
	b, err := scratch.Alloc(nil, hal.KindDevice, 700<<10)
	if err != nil {
		log.Fatal(err)
	}
	_, err = scratch.Alloc(nil, hal.KindDevice, 400<<10)
	fmt.Println("beyond the limit:", errors.Is(err, hal.ErrOutOfMemory))
	for _, block := range tracked.Live() {
		fmt.Println(block.Bytes, "bytes in use")
	}
	if err := b.Free(nil); err != nil {
		log.Fatal(err)
	}
	// Output:
	// beyond the limit: true
	// 716800 bytes in use
}
