package pool

import "github.com/go-halyard/halyard/hal"

// Allocator gives out blocks of device memory in the order of streams. [Pool] is one; [Direct],
// [StreamOrdered] and [Callbacks] return others. Package adapt wraps one and adds a limit, figures, a log
// and so on, in whatever order a program likes.
//
// Implementations are safe for concurrent use.
type Allocator interface {
	// Alloc returns size bytes of the given kind, at least as aligned as the device aligns, with
	// unspecified contents. Work of the stream may use them at once; work of another stream only
	// after an event that was recorded on this one after Alloc, unless the block is not
	// [Block.Ordered]. A nil stream asks for memory that no work uses any more, which anybody may
	// use at once, the host included.
	//
	// Size 0 is an error of kind ErrInvalidArgument, too little memory one of kind ErrOutOfMemory.
	Alloc(stream *hal.Stream, kind hal.Kind, size uint64) (Block, error)

	// Free takes a block back. All use of the block is on the stream, or ordered before the
	// stream's next work, or was recorded with the block's Use or RecordUse. A nil stream says that
	// no work uses the block any more, but for what was recorded. It does not wait.
	//
	// A block that was freed before is an error of kind ErrClosed, one of another allocator an
	// error of kind ErrInvalidArgument; neither has an effect.
	Free(b Block, stream *hal.Stream) error
}
