package algo

import (
	"context"
	"io"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/algo/internal/float32s"
	"github.com/go-halyard/halyard/kernel/algo/internal/float64s"
	"github.com/go-halyard/halyard/kernel/algo/internal/int32s"
	"github.com/go-halyard/halyard/kernel/algo/internal/int64s"
	"github.com/go-halyard/halyard/kernel/algo/internal/uint32s"
	"github.com/go-halyard/halyard/kernel/algo/internal/uint64s"
	"github.com/go-halyard/halyard/kernel/grid"
)

// work is a call of a function: several launches on a stream, and memory for the time between them.
type work struct {
	ctx    context.Context
	stream *hal.Stream
	name   string
	used   []io.Closer // temporary buffers
	err    error       // the first one; after it nothing is launched
}

// start runs a function of the package on a queue.
func start(q kernel.Queue, name string, fn func(w *work)) {
	ctx, stream, _, ok := q.Launching(name, hal.Over(1))
	if !ok {
		return
	}
	w, returned := &work{ctx: ctx, stream: stream, name: name}, false
	defer func() {
		for _, b := range w.used {
			w.fail(b.Close())
		}
		if !returned {
			w.fail(kernel.ErrUnfinished)
		}
		q.Launched(w.err)
	}()
	fn(w)
	returned = true
}

func (w *work) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// check refuses a call unless ok is true.
func (w *work) check(ok bool, format string, args ...any) {
	if !ok {
		w.fail(hal.Errorf(w.name, hal.ErrInvalidArgument, format, args...))
	}
}

// apart refuses a call whose result shares elements with what it is made of: threads would read what others have written already.
func (w *work) apart(result, from string, a, b kernel.Operand) {
	if n := kernel.Overlap(a, b); n > 0 {
		w.fail(hal.Errorf(w.name, hal.ErrOverlap, "%s and %s share %d bytes of a buffer; pass buffers or slices that share none",
			result, from, n))
	}
}

// launch launches a kernel with a block for each chunk of n elements.
func (w *work) launch(n int, kernel func(over hal.Grid) error) {
	w.enqueue(hal.Blocks(chunks(n)).Of(threads), kernel)
}

// enqueue launches a kernel unless something has failed.
func (w *work) enqueue(over hal.Grid, kernel func(over hal.Grid) error) {
	if w.err == nil {
		w.fail(kernel(over))
	}
}

// chunks returns how many chunks n elements are.
func chunks(n int) int { return (n + chunk - 1) / chunk }

// temporary returns a buffer that is closed when everything is launched. Its memory is freed when that has finished.
func temporary[T buffer.Element](w *work, n int) kernel.Vector[T] {
	b, err := buffer.New[T](n)
	if err != nil {
		w.fail(err)
		return nil
	}
	w.used = append(w.used, b)
	return b
}

// kernels are the functions that launch the kernels for elements of type T.
type kernels[T grid.Number] struct {
	bits    uint32 // of a key
	total   func(ctx context.Context, s *hal.Stream, over hal.Grid, x, sums kernel.Vector[T]) error
	extreme func(ctx context.Context, s *hal.Stream, over hal.Grid, most int32, x kernel.Vector[T], indexes kernel.Vector[int64],
		values kernel.Vector[T], at kernel.Vector[int64]) error
	scan    func(ctx context.Context, s *hal.Stream, over hal.Grid, exclusive int32, x, before, sums kernel.Vector[T]) error
	count   func(ctx context.Context, s *hal.Stream, over hal.Grid, shift uint32, keys kernel.Vector[T], counts kernel.Vector[uint32]) error
	scatter func(ctx context.Context, s *hal.Stream, over hal.Grid, shift uint32, keys kernel.Vector[T], values,
		starts kernel.Vector[uint32],
		sorted kernel.Vector[T], sortedValues kernel.Vector[uint32]) error
}

var (
	ofFloat32 = kernels[float32]{32, float32s.TotalOn, float32s.ExtremeOn, float32s.ScanOn, float32s.CountOn, float32s.ScatterOn}
	ofFloat64 = kernels[float64]{64, float64s.TotalOn, float64s.ExtremeOn, float64s.ScanOn, float64s.CountOn, float64s.ScatterOn}
	ofInt32   = kernels[int32]{32, int32s.TotalOn, int32s.ExtremeOn, int32s.ScanOn, int32s.CountOn, int32s.ScatterOn}
	ofInt64   = kernels[int64]{64, int64s.TotalOn, int64s.ExtremeOn, int64s.ScanOn, int64s.CountOn, int64s.ScatterOn}
	ofUint32  = kernels[uint32]{32, uint32s.TotalOn, uint32s.ExtremeOn, uint32s.ScanOn, uint32s.CountOn, uint32s.ScatterOn}
	ofUint64  = kernels[uint64]{64, uint64s.TotalOn, uint64s.ExtremeOn, uint64s.ScanOn, uint64s.CountOn, uint64s.ScatterOn}
)

// of returns the kernels for elements of type T.
func of[T grid.Number]() *kernels[T] {
	var found any
	switch any(T(0)).(type) {
	case float32:
		found = &ofFloat32
	case float64:
		found = &ofFloat64
	case int32:
		found = &ofInt32
	case int64:
		found = &ofInt64
	case uint32:
		found = &ofUint32
	case uint64:
		found = &ofUint64
	}
	return found.(*kernels[T])
}
