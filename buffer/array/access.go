package array

import (
	"context"
	"unsafe"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// maxRuns is how many ranges of a buffer one access holds at once. Each is an access of its own to
// the buffer, which compares it with all others that are open.
var maxRuns = 256

// View runs fn on the elements, for reading. Only they are moved to the host, except that of an array
// that fills more than 256 separate ranges the gaps between some may be moved too. It waits as
// [buffer.Buffer.View] does. The error is fn's own, or tells why fn was not run.
func (a *Array[T]) View(ctx context.Context, fn func(Grid[T]) error) error {
	return a.inPlace(ctx, "View", coherence.Read, fn)
}

// Update runs fn on the elements, for reading and writing. When fn returns, with or without an error,
// every other replica of the elements is old, and of nothing else, except for the gaps that [Array.View]
// mentions, which count as written with the contents that they had. It waits as [buffer.Buffer.Update] does.
func (a *Array[T]) Update(ctx context.Context, fn func(Grid[T]) error) error {
	return a.inPlace(ctx, "Update", coherence.ReadWrite, fn)
}

// Overwrite is Update for an fn that writes every element and reads none: nothing is copied to the
// host first, and elements that fn leaves out have unspecified contents. If the elements are not one unbroken
// range, fn writes to memory of its own, which becomes the elements' contents when fn returns without
// an error; of an array that fills more than 256 separate ranges others may then see a part before
// the rest.
func (a *Array[T]) Overwrite(ctx context.Context, fn func(Grid[T]) error) error {
	const op = "Overwrite"
	if err := a.check(op); err != nil {
		return err
	}
	if fn == nil {
		return failure(op, hal.ErrInvalidArgument, "nil function")
	}
	if a.solid() {
		return a.inPlace(ctx, op, coherence.Overwrite, fn)
	}
	if err := ctx.Err(); err != nil {
		return &hal.Error{Op: op, Device: -1, Kind: hal.ErrNotReady, Err: context.Cause(ctx)}
	}
	to := a.at.packed()
	data := make([]T, a.Len())
	if err := within(data, &to, true, fn); err != nil {
		return err
	}
	return a.scatter(ctx, data)
}

// solid reports whether the elements fill one unbroken range, in whatever order.
func (a *Array[T]) solid() bool {
	h := a.at.hull()
	return h.hi-h.lo == a.Len()
}

// inPlace runs fn on the host's replica, with all pieces of the array held at once.
func (a *Array[T]) inPlace(ctx context.Context, op string, mode coherence.Action, fn func(Grid[T]) error) error {
	if err := a.check(op); err != nil {
		return err
	}
	if fn == nil {
		return failure(op, hal.ErrInvalidArgument, "nil function")
	}
	if err := a.root.onHost(ctx); err != nil {
		return err
	}
	pieces := a.at.pieces(maxRuns)
	lo, hi := pieces[0].lo, pieces[len(pieces)-1].hi
	at := a.at
	at.off -= lo
	var base *T
	h := hold[T]{ctx: ctx, b: a.root.b, mode: mode, pieces: pieces}
	h.enter = func(i int, s []T) error {
		if i == 0 {
			base = unsafe.SliceData(s)
		} else if unsafe.Add(unsafe.Pointer(base), uintptr(pieces[i].lo-lo)*unsafe.Sizeof(*base)) != unsafe.Pointer(unsafe.SliceData(s)) {
			return failure(op, hal.ErrInternal, "the host's replica is in several places")
		}
		return nil
	}
	h.all = func() error { return within(unsafe.Slice(base, hi-lo), &at, mode != coherence.Read, fn) }
	return h.from(0)
}

// hold opens accesses to several ranges of a buffer, each within the one before, in ascending
// order: so two of them cannot wait for each other.
type hold[T buffer.Element] struct {
	ctx    context.Context
	b      *buffer.Buffer[T]
	mode   coherence.Action
	pieces []span
	enter  func(i int, s []T) error // when piece i is held
	all    func() error             // when all are
}

func (h *hold[T]) from(i int) error {
	if i == len(h.pieces) {
		return h.all()
	}
	b := h.b
	if p := h.pieces[i]; p.lo != 0 || p.hi != b.Len() {
		var err error
		if b, err = b.Slice(p.lo, p.hi); err != nil {
			return err
		}
	}
	fn := func(s []T) error {
		if err := h.enter(i, s); err != nil {
			return err
		}
		return h.from(i + 1)
	}
	switch h.mode {
	case coherence.Read:
		return b.View(h.ctx, fn)
	case coherence.ReadWrite:
		return b.Update(h.ctx, fn)
	}
	return b.Overwrite(h.ctx, fn)
}

// transfer copies the elements, in the order of their places, to or from data, which has as many. It
// moves nothing else. Up to maxRuns ranges are held at once.
func (a *Array[T]) transfer(ctx context.Context, mode coherence.Action, data []T) error {
	if err := a.root.onHost(ctx); err != nil {
		return err
	}
	var batch []span
	flush := func() error {
		starts := make([]int, len(batch))
		n := 0
		for i, p := range batch {
			starts[i] = n
			n += p.hi - p.lo
		}
		h := hold[T]{ctx: ctx, b: a.root.b, mode: mode, pieces: batch}
		// What was opened for overwriting is written at once: nothing that fails later
		// leaves it without contents.
		h.enter = func(i int, s []T) error {
			if mode == coherence.Read {
				copy(data[starts[i]:], s)
			} else {
				copy(s, data[starts[i]:])
			}
			return nil
		}
		h.all = func() error { return nil }
		err := h.from(0)
		data = data[n:]
		batch = batch[:0]
		return err
	}
	for r := range a.at.runs() {
		if batch = append(batch, r); len(batch) == maxRuns {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if len(batch) > 0 {
		return flush()
	}
	return nil
}

// gather reads the elements in the order of their places, which is that of at.packed.
func (a *Array[T]) gather(ctx context.Context, data []T) error {
	return a.transfer(ctx, coherence.Read, data)
}

// scatter overwrites the elements with data in the order of their places.
func (a *Array[T]) scatter(ctx context.Context, data []T) error {
	return a.transfer(ctx, coherence.Overwrite, data)
}
