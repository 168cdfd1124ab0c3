package staging_test

import (
	"context"
	"fmt"

	_ "github.com/go-halyard/halyard/backends"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/staging"
)

// Bytes go up and come down through page-locked memory.
func ExampleRing() {
	ctx := context.Background()
	dev, err := hal.Open(ctx, "host:0")
	check(err)
	defer dev.Close()
	mem, err := dev.Alloc(hal.KindDevice, 1<<20, 0)
	check(err)
	defer mem.Close()
	stream, err := dev.NewStream(hal.StreamOptions{})
	check(err)
	defer stream.Close()
	ring, err := staging.New(dev, staging.Options{})
	check(err)
	defer ring.Close()

	data := make([]byte, 1<<20)
	data[12345] = 67
	check(ring.Upload(ctx, stream, mem.All(), data))
	clear(data) // it has been read
	check(ring.Download(ctx, stream, data, mem.All()))
	fmt.Println(data[12345])
	// Output: 67
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
