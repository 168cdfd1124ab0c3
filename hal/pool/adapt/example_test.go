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

// A part of a program gets a share of the memory, and its use is counted.
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

	counted := adapt.Count(p)
	scratch := adapt.Limit(counted, 1<<20)
	b, err := scratch.Alloc(nil, hal.KindDevice, 700<<10)
	if err != nil {
		log.Fatal(err)
	}
	_, err = scratch.Alloc(nil, hal.KindDevice, 400<<10)
	fmt.Println("beyond the limit:", errors.Is(err, hal.ErrOutOfMemory))
	if err := b.Free(nil); err != nil {
		log.Fatal(err)
	}
	bytes := counted.Counts().Bytes
	fmt.Println(bytes.Current, "bytes in use,", bytes.Peak, "at most")
	// Output:
	// beyond the limit: true
	// 0 bytes in use, 716800 at most
}
