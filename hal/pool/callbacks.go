package pool

import (
	"context"

	"github.com/go-halyard/halyard/hal"
)

// callbacks is an allocator made of two functions.
type callbacks struct {
	alloc func(*hal.Stream, hal.Kind, uint64) (hal.Region, error)
	free  func(hal.Region, *hal.Stream) error
}

// Callbacks makes an allocator of a program's own functions, which must be safe for concurrent use. alloc must return
// a region of at least size bytes, whose offset has the device's alignment. free is called once with the same region, after
// its block has been freed. If uses were recorded with Block.KeepUntil or RecordUse, the stream that the block is freed on
// is made to wait for them before free is called; without a stream, Block.Free itself waits.
func Callbacks(alloc func(stream *hal.Stream, kind hal.Kind, size uint64) (hal.Region, error),
	free func(r hal.Region, stream *hal.Stream) error) Allocator {
	return &callbacks{alloc, free}
}

func (a *callbacks) Alloc(stream *hal.Stream, kind hal.Kind, size uint64) (Block, error) {
	const op = "alloc"
	region, err := a.alloc(stream, kind, size)
	if err != nil {
		return Block{}, err
	}
	if region.Mem == nil || region.Len < size {
		if region.Mem != nil {
			_ = a.free(region, stream)
		}
		return Block{}, hal.Errorf(op, hal.ErrDriver, "the callback returned %d bytes when asked for %d", region.Len, size)
	}
	r := &record{mem: region.Mem, off: region.Off, cap: region.Len, kind: kind, owner: a}
	return newBlock(r, a, r.give(size), stream != nil), nil
}

func (a *callbacks) Free(b Block, stream *hal.Stream) error {
	if err := own(a, b); err != nil {
		return err
	}
	r := b.rec
	if !r.end(b.state()) {
		return b.stale("free")
	}
	events := r.uses.take()
	defer releaseAll(events)
	for _, m := range events {
		if stream == nil || stream.WaitEvent(m) != nil {
			_ = m.Sync(context.Background()) // the owner of the work finds its error
		}
	}
	return a.free(hal.Region{Mem: r.mem, Off: r.off, Len: r.cap}, stream)
}
