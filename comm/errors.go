package comm

import "github.com/go-halyard/halyard/internal/comm/driver"

// Error is the type of the errors of this package and of its engines; errors.As finds it. Errors of buffers that take part in an
// operation, such as conflicts, are those of package buffer.
type Error = driver.Error

// The kinds of error.
var (
	ErrUnavailable     = driver.ErrUnavailable     // there is no library to communicate with
	ErrInvalidArgument = driver.ErrInvalidArgument // an argument that no engine accepts
	ErrUnsupported     = driver.ErrUnsupported     // the engine does not support the operation
	ErrOutOfMemory     = driver.ErrOutOfMemory     // no memory for the engine to send from
	ErrClosed          = driver.ErrClosed          // the communicator was closed
	ErrTruncated       = driver.ErrTruncated       // a message was longer than the memory for it
	ErrTimeout         = driver.ErrTimeout         // the context ended first
	ErrRankLost        = driver.ErrRankLost        // another process ended, or aborted the job
	ErrMismatch        = driver.ErrMismatch        // ranks made different calls
	ErrEngine          = driver.ErrEngine          // the engine reported something unforeseen
)
