package kernel

import (
	"context"

	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// Target is what a launch is made on: a [*hal.Stream], a [*Split], the [*Step] of a function of [Record], or what [Queue.On] returns.
type Target interface{ Device() *hal.Device }

// Queue is what a launcher that the command "halyard kernels" wrote enqueues its kernel on. The launcher returns no error, because the
// queue keeps it. A [*halyard.Queue] is one; [github.com/go-halyard/halyard.On] makes one of a stream.
type Queue interface {
	// Launching returns context and grid of a launch of the named kernel. over is the grid that the launcher takes from the kernel's data,
	// or the zero Grid if that does not follow from the data. If ok is false, nothing is launched. A launch on stream is not part of what
	// the queue does with its launches: it is not divided or recorded, and its failure belongs to the stream. If stream is nil, such a launch
	// has no place here, because the queue records launches that are divided among ranks.
	Launching(kernel string, over hal.Grid) (ctx context.Context, stream *hal.Stream, grid hal.Grid, ok bool)

	// On returns what the launch is made on. It is called after a Launching whose ok was true.
	On() Target

	// Launched takes the result of the launch. It is called after each Launching whose ok was true, also if the launch panics or ends its
	// goroutine: with ErrUnfinished.
	Launched(err error)
}

// ErrUnfinished is what launchers pass to [Queue.Launched] for a launch that has not returned.
var ErrUnfinished = hal.Errorf("launch", hal.ErrInvalidArgument, "the launch did not return: it panicked, or ended its goroutine")

// Vector is what a launcher takes for a slice of the kernel with elements of type T: a *buffer.Buffer[T], a *halyard.Buffer[T], or a
// contiguous *array.Array[T].
type Vector[T any] interface {
	Operand
	Len() int
	Element() T // the zero value of the elements' type
}

// Len returns the number of elements of x, 0 if x is nil.
func Len[T any](x Vector[T]) int {
	if x == nil {
		return 0
	}
	return x.Len()
}

// Overlap returns how many bytes of a buffer two operands share.
func Overlap(x, y Operand) (bytes uint64) {
	if x == nil || y == nil {
		return 0
	}
	return x.Want(coherence.Read).Overlap(y.Want(coherence.Read))
}
