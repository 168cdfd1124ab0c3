package pool

import "github.com/go-halyard/halyard/hal"

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
