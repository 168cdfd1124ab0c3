package pool

import (
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
)

// direct gives each block a memory of its own and keeps nothing.
type direct struct {
	dev   *hal.Device
	async bool // every block is of KindDevice, has a stream, and is allocated in its order: for pools
}

// Direct returns an allocator without a pool: each block is a memory of its own, which goes back to the device once
// the work that uses it has finished.
func Direct(dev *hal.Device) Allocator { return &direct{dev: dev} }

func (a *direct) Alloc(stream *hal.Stream, kind hal.Kind, size uint64) (Block, error) {
	const op = "alloc"
	var mem *hal.Memory
	var err error
	switch {
	case stream != nil && !stream.Device().Same(a.dev):
		return Block{}, failure(a.dev, op, hal.ErrWrongDevice, "the stream belongs to %s", stream.Device().Name())
	case !a.async:
		mem, err = a.dev.Alloc(kind, size, 0)
	default:
		mem, err = stream.AllocAsync(size, 0)
	}
	if err != nil {
		return Block{}, err
	}
	r := &record{mem: mem, cap: size, kind: kind, owner: a}
	return newBlock(r, a, r.give(size), a.async), nil
}

func (a *direct) Free(b Block, stream *hal.Stream) error {
	r := b.rec
	switch {
	case r == nil:
		return hal.Errorf("free", hal.ErrClosed, "zero block")
	case r.owner != a:
		return failure(r.mem.Device(), "free", hal.ErrInvalidArgument, "the block belongs to another allocator")
	}
	if !r.end(b.state()) {
		return b.stale("free")
	}
	if stream != nil {
		// hal keeps the memory for a closed stream, too.
		if err := stream.RecordUse(r.mem); err != nil && !isClosed(err) {
			keepFor(r.mem, r.uses.take())
			_ = r.mem.Close()
			return err
		}
	}
	keepFor(r.mem, r.uses.take())
	return r.mem.Close()
}

// keepFor makes hal keep a memory until the events' work has finished, and closes the events.
func keepFor(mem *hal.Memory, fence []*hal.Event) {
	for _, m := range fence {
		_ = layer.KeepUntil(mem, m)
	}
	releaseAll(fence)
}
