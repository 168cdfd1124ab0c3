package pool

import (
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
)

// Block is a range of device memory that an [Allocator] gave out. It is a small value that may be
// copied. Once the block has been freed every copy of it is stale: a method then fails with an error
// of kind hal.ErrClosed, or returns a zero value. The zero Block is stale.
//
// A hal.Region taken from a block is not protected in this way: like the vendor's own pointers, it must
// not be used after the block is freed.
type Block struct {
	rec  *record
	from Allocator

	// ticket is the record's state while the block is live, shifted left, with orderedBit if only the
	// block's stream may use the block at once.
	ticket uint64
}

const orderedBit = 1

func newBlock(r *record, from Allocator, state uint64, ordered bool) Block {
	b := Block{rec: r, from: from, ticket: state << 1}
	if ordered {
		b.ticket |= orderedBit
	}
	return b
}

func (b Block) state() uint64 { return b.ticket >> 1 }

// Valid reports whether the block is live: given out and not freed since.
func (b Block) Valid() bool { return b.rec != nil && b.rec.state.Load() == b.state() }

// Region is the memory of the block, with the length that was asked for.
func (b Block) Region() (hal.Region, error) {
	if b.rec == nil {
		return hal.Region{}, hal.Errorf("region of a block", hal.ErrClosed, "zero block")
	}
	r := hal.Region{Mem: b.rec.mem, Off: b.rec.off, Len: b.rec.size.Load()}
	if !b.Valid() {
		return hal.Region{}, b.stale("region of a block")
	}
	return r, nil
}

// Size is the number of bytes asked for, 0 if the block is stale.
func (b Block) Size() uint64 {
	if b.rec == nil {
		return 0
	}
	n := b.rec.size.Load()
	if !b.Valid() {
		return 0
	}
	return n
}

// Capacity is the number of bytes that the block occupies, and that may be used: at least Size, and 0 if
// the block is stale.
func (b Block) Capacity() uint64 {
	if !b.Valid() {
		return 0
	}
	return b.rec.cap
}

// Kind is the kind of memory, 0 if the block is stale.
func (b Block) Kind() hal.Kind {
	if !b.Valid() {
		return 0
	}
	return b.rec.mem.Kind()
}

// Pool is the pool that the block's memory belongs to, however the pool was wrapped; nil if there is none.
func (b Block) Pool() *Pool {
	if b.rec == nil {
		return nil
	}
	return b.rec.pool
}

// Ordered reports whether earlier work of the stream that the block was allocated on may still use
// the memory. If so, other streams and the host must wait for an event recorded on that stream after
// Alloc. If not, all of them may use the block at once.
func (b Block) Ordered() bool { return b.ticket&orderedBit != 0 }

// Free gives the block back to the allocator that gave it out; see [Allocator].
func (b Block) Free(stream *hal.Stream) error {
	if b.from == nil {
		return hal.Errorf("free", hal.ErrClosed, "zero block")
	}
	return b.from.Free(b, stream)
}

// From returns the block with a as the allocator that Free gives it back to. An allocator that wraps
// another returns the other's blocks with itself as a, so that Block.Free calls its Free. As a key of a map use From(nil): the blocks that
// From(nil) returns for two copies of one block are equal (==), whether live or stale; for two different blocks they never are.
func (b Block) From(a Allocator) Block {
	b.from = a
	return b
}

// KeepUntil tells the allocator that the block is in use until the event's work has finished, whichever stream it is
// freed on. The block holds a reference of its own to the event.
func (b Block) KeepUntil(e *hal.Event) error {
	const op = "use of a block"
	if b.rec == nil {
		return hal.Errorf(op, hal.ErrClosed, "zero block")
	}
	own := layer.Retain(e)
	if own == nil {
		_, err := e.Done()
		return err // it says that the event is nil or closed
	}
	if !b.rec.uses.add(b, own) {
		_ = own.Close()
		return b.stale(op)
	}
	return nil
}

// RecordUse tells the allocator that the work enqueued on the stream so far uses the block. Call it after using a
// block on another stream than the one that it will be freed on.
func (b Block) RecordUse(stream *hal.Stream) error {
	const op = "use of a block"
	if b.rec == nil {
		return hal.Errorf(op, hal.ErrClosed, "zero block")
	}
	if !b.Valid() {
		return b.stale(op)
	}
	if stream == nil {
		return failure(b.rec.mem.Device(), op, hal.ErrInvalidArgument, "nil stream")
	}
	// The memory as a whole may be closed by a trim before the event's work has finished.
	if err := stream.RecordUse(b.rec.mem); err != nil {
		return err
	}
	m, err := layer.RecordShared(stream)
	if err != nil {
		return err
	}
	defer m.Close()
	return b.KeepUntil(m)
}

func (b Block) stale(op string) error {
	return failure(b.rec.mem.Device(), op, hal.ErrClosed, "the block was freed before")
}
