package adapt_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

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

// logging is an allocator that logs what passes through it.
type logging struct {
	pool.Allocator
	to *log.Logger
}

func (l *logging) Alloc(stream *hal.Stream, kind hal.Kind, size uint64) (pool.Block, error) {
	b, err := l.Allocator.Alloc(stream, kind, size)
	if err != nil {
		l.to.Printf("allocate failure,%d,%v", size, kind)
		return b, err
	}
	l.to.Printf("allocate,%d,%v", size, kind)
	return b.From(l), nil
}

func (l *logging) Free(b pool.Block, stream *hal.Stream) error {
	size, kind := b.Size(), b.Kind()
	err := l.Allocator.Free(b, stream)
	if err == nil {
		l.to.Printf("free,%d,%v", size, kind)
	}
	return err
}

// An allocator of the program's own writes a line for each call.
func Example_log() {
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

	a := &logging{p, log.New(os.Stdout, "", 0)}
	b, err := a.Alloc(nil, hal.KindDevice, 4096)
	if err != nil {
		log.Fatal(err)
	}
	if err := b.Free(nil); err != nil {
		log.Fatal(err)
	}
	// Output:
	// allocate,4096,device
	// free,4096,device
}
