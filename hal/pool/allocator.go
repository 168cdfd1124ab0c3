package pool

import "github.com/go-halyard/halyard/hal"

// Allocator gives out blocks of device memory in the order of streams. [Pool] is one; [Direct],
// [StreamOrdered] and [Callbacks] return others. Package adapt wraps an allocator and adds a limit, figures, a log
// and so on, which can be combined in any order.
//
// Implementations are safe for concurrent use.
type Allocator interface {
	// Alloc returns size bytes of the given kind, at least as aligned as the device aligns, with
	// unspecified contents. Work of the stream may use them at once; work of another stream only
	// after an event that was recorded on this one after Alloc; if the block is not [Block.Ordered],
	// it may use them at once, too. A nil stream asks for memory that no work uses any more, which
	// all streams and the host may use at once.
	//
	// Size 0 is an error of kind ErrInvalidArgument, too little memory one of kind ErrOutOfMemory.
	Alloc(stream *hal.Stream, kind hal.Kind, size uint64) (Block, error)

	// Free takes a block back. All use of the block must be on the stream, or ordered before the
	// stream's next work, or recorded with the block's KeepUntil or RecordUse. A nil stream says that
	// no work uses the block any more, except for recorded uses. Free does not wait.
	//
	// A block that was freed before is an error of kind ErrClosed, a block of another allocator an
	// error of kind ErrInvalidArgument; in both cases nothing changes.
	Free(b Block, stream *hal.Stream) error
}
