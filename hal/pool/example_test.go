package pool_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	_ "github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/hal/pool"
)

func Example() {
	ctx := context.Background()
	dev, err := hal.Open(ctx, "host:0")
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	stream, err := dev.NewStream()
	if err != nil {
		log.Fatal(err)
	}
	defer stream.Close()
	p, err := pool.New(dev, pool.WithLimit(64<<20))
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()

	for range 1000 {
		b, err := p.Alloc(stream, hal.KindDevice, 3000)
		if err != nil {
			log.Fatal(err)
		}
		r, err := b.Region()
		if err != nil {
			log.Fatal(err)
		}
		if err := stream.Fill(r, hal.Zero); err != nil {
			log.Fatal(err)
		}
		if err := b.Free(stream); err != nil { // no need to wait for the fill
			log.Fatal(err)
		}
	}
	s := p.Stats()
	fmt.Println(s.Allocs, "blocks from", s.DeviceAllocs, "memory of the device")
	// Output: 1000 blocks from 1 memory of the device
}

func ExampleExhaustedError() {
	dev, err := hal.Open(context.Background(), "host:0")
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()
	p, err := pool.New(dev, pool.WithLimit(8<<20))
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	weights, err := p.Alloc(nil, hal.KindDevice, 6<<20)
	if err != nil {
		log.Fatal(err)
	}
	defer weights.Free(nil)

	_, err = p.Alloc(nil, hal.KindDevice, 4<<20)
	var who *pool.ExhaustedError
	if errors.As(err, &who) {
		fmt.Println(who.Blocks, "blocks hold", pool.FormatSize(who.Live), "of at most", pool.FormatSize(who.Limit))
	}
	// Output: 1 blocks hold 6 MiB of at most 8 MiB
}

func ExampleParseSize() {
	n, err := pool.ParseSize("1.5GiB")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(n, pool.FormatSize(n))
	// Output: 1610612736 1.50 GiB
}
