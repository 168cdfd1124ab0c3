package algo

import (
	"context"
	"io"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/algo/internal/histograms"
)

// work is a call of a function: several launches on a queue, and memory for the time between them.
type work struct {
	ctx  context.Context
	q    kernel.Queue
	on   kernel.Target // a step of q, or its first stream
	name string
	used []io.Closer // temporary buffers
	err  error       // the first one; after it nothing is launched
}

// start runs a function of the package on a queue, or records it.
func start(q kernel.Queue, name string, fn func(w *work)) {
	ctx, stream, _, ok := q.Launching(name, hal.Over(1))
	if !ok {
		return
	}
	if stream == nil {
		q.Launched(hal.Errorf(name, hal.ErrUnsupported, "it cannot be part of a step whose launches are divided among ranks"))
		return
	}
	w, returned := &work{ctx: ctx, q: q, on: stream, name: name}, false
	step, records := q.On().(*kernel.Step)
	if records {
		w.on = step
	}
	defer func() {
		for _, b := range w.used {
			if records {
				step.Keep(b)
			} else {
				w.fail(b.Close())
			}
		}
		if !returned {
			w.fail(kernel.ErrUnfinished)
		}
		q.Launched(w.err)
	}()
	fn(w)
	returned = true
}

// divide lets the launches be divided among the devices of the queue. It is for functions that read much and write little.
func (w *work) divide() { w.on = w.q.On() }

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
	w.enqueue(hal.Blocks(count(n, chunk)).Of(threads), kernel)
}

// single is a grid of one block.
var single = hal.Blocks(1).Of(threads)

// enqueue launches a kernel unless something has failed.
func (w *work) enqueue(over hal.Grid, kernel func(over hal.Grid) error) {
	if w.err == nil {
		w.fail(kernel(over))
	}
}

// count returns how many chunks of some size n elements are.
func count(n, size int) int { return (n + size - 1) / size }

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

// zeros returns a temporary buffer whose elements are 0. In later runs of a step they would be what the run before left, so the step
// begins with a kernel that writes zeros.
func zeros[T buffer.Element](w *work, n int) kernel.Vector[T] {
	b := temporary[T](w, n)
	if _, records := w.on.(*kernel.Step); records {
		all := inWords(b)
		w.enqueue(hal.Over(kernel.Len(all)), func(g hal.Grid) error { return histograms.ZeroOn(w.ctx, w.on, g, all) })
	}
	return b
}
