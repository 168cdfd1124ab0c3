package trace_test

import (
	"context"
	"fmt"
	"log"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/trace"
	"github.com/go-halyard/halyard/hal"
)

func Example() {
	ctx := context.Background()
	dev, err := hal.OpenWith(ctx, host.New(host.Options{Discrete: 1}), 1)
	if err != nil {
		log.Fatal(err)
	}
	defer dev.Close()

	rec := trace.Record()
	x, err := buffer.From([]int32{1, 2, 3})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	if err := x.SyncTo(ctx, dev); err != nil {
		log.Fatal(err)
	}
	rec.Stop()
	for _, s := range rec.Spans() {
		if s.Kind == buffer.ActivityWait {
			continue // there is one if the copy is not done by then
		}
		fmt.Printf("%v of %d bytes at %s, because of %q\n", s.Kind, s.Hi-s.Lo, s.To, s.Cause)
	}
	// Output:
	// alloc of 12 bytes at host, because of "Overwrite"
	// use of 12 bytes at host, because of "Overwrite"
	// alloc of 12 bytes at host:1, because of "SyncTo"
	// copy of 12 bytes at host:1, because of "SyncTo"
}
