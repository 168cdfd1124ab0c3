package comm

import "github.com/go-halyard/halyard/internal/comm/driver"

// Error is the type of the errors of this package and of its engines; errors.As finds it. Errors of buffers that take part in an
// operation, such as conflicts, are those of package buffer.
type Error = driver.Error

// The kinds of error, beside those of package hal: hal.ErrUnavailable, ErrInvalidArgument, ErrUnsupported, ErrOutOfMemory (for memory of the
// engine, too) and ErrClosed.
var (
	ErrTruncated = driver.ErrTruncated // a message was longer than the memory for it
	ErrTimeout   = driver.ErrTimeout   // the context ended first
	ErrRankLost  = driver.ErrRankLost  // another process ended, or aborted the job
	ErrMismatch  = driver.ErrMismatch  // ranks made different calls
	ErrEngine    = driver.ErrEngine    // the engine reported something unforeseen
)
