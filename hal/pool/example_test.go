package pool_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"

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
		fmt.Println(who.Blocks, "blocks hold", who.Live, "bytes of at most", who.Limit)
	}
	// Output: 1 blocks hold 6291456 bytes of at most 8388608
}

// tracking is an allocator that knows which of its blocks are live, and who allocated them.
type tracking struct {
	pool.Allocator
	mu   sync.Mutex
	live map[pool.Block]string // the key is From(nil) of the block
}

func (t *tracking) For(who string, stream *hal.Stream, size uint64) (pool.Block, error) {
	b, err := t.Alloc(stream, hal.KindDevice, size)
	if err != nil {
		return b, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.live[b.From(nil)] = who
	return b.From(t), nil // so that the block's Free calls that of t
}

func (t *tracking) Free(b pool.Block, stream *hal.Stream) error {
	err := t.Allocator.Free(b, stream)
	if !b.Valid() { // freed now, or before
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.live, b.From(nil))
	}
	return err
}

// An allocator of the program's own wraps another. It can limit, count or log in the same way.
func ExampleBlock_From() {
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

	a := &tracking{Allocator: p, live: map[pool.Block]string{}}
	b, err := a.For("weights", nil, 4096)
	if err != nil {
		log.Fatal(err)
	}
	for b, who := range a.live {
		fmt.Println(who, "has", b.Size(), "bytes")
	}
	if err := b.Free(nil); err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(a.live), "blocks are left")
	// Output:
	// weights has 4096 bytes
	// 0 blocks are left
}
