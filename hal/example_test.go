package hal_test

import (
	"context"
	"fmt"
	"log"

	_ "github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
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
	mem, err := dev.Alloc(hal.KindDevice, 8, 0)
	if err != nil {
		log.Fatal(err)
	}
	defer mem.Close()

	out := make([]byte, 8)
	if err := stream.Fill(mem.All(), hal.Pattern16(0x0201)); err != nil {
		log.Fatal(err)
	}
	if err := stream.CopyIn(mem.Region(2, 2), []byte{9, 9}); err != nil {
		log.Fatal(err)
	}
	if err := stream.CopyOut(out, mem.All()); err != nil {
		log.Fatal(err)
	}
	if err := stream.Sync(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println(out)
	// Output: [1 2 9 9 1 2 1 2]
}

func ExampleStream_Gate() {
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

	gate, err := stream.Gate()
	if err != nil {
		log.Fatal(err)
	}
	done, _ := stream.Done()
	fmt.Println("shut, done:", done)
	if err := gate.Signal(); err != nil {
		log.Fatal(err)
	}
	if err := stream.Sync(ctx); err != nil {
		log.Fatal(err)
	}
	done, _ = stream.Done()
	fmt.Println("open, done:", done)
	// Output:
	// shut, done: false
	// open, done: true
}
