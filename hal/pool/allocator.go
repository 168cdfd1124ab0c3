package pool

import (
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
)

// Allocator gives out blocks of device memory in stream order. [Pool] is an Allocator; [Direct] returns
// another. A program wraps one in a type of its own to limit, count or log; see
// [Block.From].
//
// Implementations are safe for concurrent use.
type Allocator interface {
	// Alloc returns a block of size bytes of the given kind, with unspecified contents and at least
	// the device's alignment. Work of the stream may use the block at once. If the block is
	// [Block.Ordered], work of other streams must first wait for an event that was recorded on this
	// stream after Alloc; if not, that work may use the block at once, too. With a nil stream the
	// block has memory that no work uses any more: all streams and the host may use it at once.
	//
	// A block of 0 bytes takes no memory and has to be freed like any other. Too little memory is an error of kind ErrOutOfMemory.
	Alloc(stream *hal.Stream, kind hal.Kind, size uint64) (Block, error)

	// Free takes a block back. All use of the block must be on the stream, or ordered before the
	// stream's next work, or recorded with the block's KeepUntil or RecordUse. A nil stream says that
	// no work uses the block any more, except for recorded uses. Free does not wait.
	//
	// A block that was freed before is an error of kind ErrClosed, a block of another allocator an
	// error of kind ErrInvalidArgument; in both cases nothing changes.
	Free(b Block, stream *hal.Stream) error
}

// direct gives each block a memory of its own and keeps nothing.
type direct struct {
	dev    *hal.Device
	async  bool // for pools: every block is stream-ordered memory of KindDevice
	source func(stream *hal.Stream, kind hal.Kind, size uint64) (*hal.Memory, error)
}

// Direct returns an allocator without a pool: each block is a memory of its own, which goes back to the device once
// the work that uses it has finished.
func Direct(dev *hal.Device) Allocator { return &direct{dev: dev} }

// Callbacks returns an allocator whose memory comes from alloc, a function of the program: for a program that has a memory manager of its
// own. Usually alloc imports what the manager allocates ([hal.Device.Import]), and the import's Release gives it back to the manager; hal
// calls that when the last work that uses the memory has finished. alloc returns memory of dev with at least size bytes, which the stream's
// work may use at once. If the manager has too little, it returns an error of kind hal.ErrOutOfMemory, so that package buffer evicts replicas
// to make room. It may be called from several goroutines at once. Other memory is refused, and stays the program's.
func Callbacks(dev *hal.Device, alloc func(stream *hal.Stream, kind hal.Kind, size uint64) (*hal.Memory, error)) Allocator {
	return &direct{dev: dev, source: alloc}
}

func (a *direct) Alloc(stream *hal.Stream, kind hal.Kind, size uint64) (Block, error) {
	const op = "alloc"
	var mem *hal.Memory
	var err error
	switch {
	case stream != nil && !stream.Device().Same(a.dev):
		return Block{}, failure(a.dev, op, hal.ErrWrongDevice, "the stream belongs to %s", stream.Device().Name())
	case a.source != nil:
		if mem, err = a.source(stream, kind, size); err == nil && (mem == nil || !mem.Device().Same(a.dev) || mem.Size() < size) {
			err = failure(a.dev, op, hal.ErrInvalidArgument, "the program's function returned %v, not %d bytes of the device", mem, size)
		}
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
