package array

import (
	"context"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layer"
)

// maxRuns is the largest number of ranges of a buffer in one access. Each written range becomes a separate interval
// of the buffer, and needs a separate copy when the elements are next moved.
var maxRuns = 4096

// View runs fn on the elements, for reading. Only the elements of the array are moved to the host, with one exception: if the array fills
// more than 4096 separate ranges, elements of the buffer in some gaps may be moved too. View waits as
// [buffer.Buffer.View] does. The error is the one that fn returned, or says why fn was not run.
func (a *Array[T]) View(ctx context.Context, fn func(Accessor[T]) error) error {
	return a.inPlace(ctx, "View", coherence.Read, fn)
}

// Update runs fn on the elements, for reading and writing. When fn returns, with or without an error,
// every other replica of the elements is stale. If gaps are moved, as [Array.View] describes, they count as written too,
// with unchanged contents. Update waits as [buffer.Buffer.Update] does.
func (a *Array[T]) Update(ctx context.Context, fn func(Accessor[T]) error) error {
	return a.inPlace(ctx, "Update", coherence.ReadWrite, fn)
}

// Overwrite is Update for an fn that writes every element and reads none: nothing is copied to the
// host first, and elements that fn does not write have unspecified contents. If the elements are not one unbroken
// range, fn writes to temporary memory, which is copied to the elements when fn returns without
// an error. If the array fills more than 4096 separate ranges, other accesses may see the result of a part of that copy before
// the rest is copied.
func (a *Array[T]) Overwrite(ctx context.Context, fn func(Accessor[T]) error) error {
	const op = "Overwrite"
	if err := a.check(op); err != nil {
		return err
	}
	if fn == nil {
		return hal.Errorf(op, hal.ErrInvalidArgument, "nil function")
	}
	if a.solid() {
		return a.inPlace(ctx, op, coherence.Overwrite, fn)
	}
	if ctx.Err() != nil {
		return layer.Interrupted(op, ctx)
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

// inPlace runs fn on the host's replica, in one access of all pieces of the array.
func (a *Array[T]) inPlace(ctx context.Context, op string, mode coherence.Mode, fn func(Accessor[T]) error) error {
	if err := a.check(op); err != nil {
		return err
	}
	if fn == nil {
		return hal.Errorf(op, hal.ErrInvalidArgument, "nil function")
	}
	pieces := ranges(a.at.pieces(maxRuns))
	at := a.at
	if len(pieces) > 0 {
		at.off -= pieces[0].Lo
	}
	return a.b.AccessRanges(ctx, mode, pieces, func(s []T) error {
		return within(s, &at, mode != coherence.Read, fn)
	})
}

func ranges(spans []span) []buffer.Range {
	list := make([]buffer.Range, len(spans))
	for i, s := range spans {
		list[i] = buffer.Range{Lo: s.lo, Hi: s.hi}
	}
	return list
}

// transfer copies the elements, in the order of their places in the buffer, to or from data, which has the same length. No other
// elements are moved. One access has at most maxRuns ranges.
func (a *Array[T]) transfer(ctx context.Context, mode coherence.Mode, data []T) error {
	var batch []buffer.Range
	flush := func() error {
		err := a.b.AccessRanges(ctx, mode, batch, func(s []T) error {
			for _, r := range batch {
				part := s[r.Lo-batch[0].Lo : r.Hi-batch[0].Lo]
				if mode == coherence.Read {
					copy(data, part)
				} else {
					copy(part, data)
				}
				data = data[len(part):]
			}
			return nil
		})
		batch = batch[:0]
		return err
	}
	for r := range a.at.runs() {
		if batch = append(batch, buffer.Range{Lo: r.lo, Hi: r.hi}); len(batch) == maxRuns {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if len(batch) > 0 || a.at.empty() {
		return flush()
	}
	return nil
}

// gather reads the elements in the order of their places, which is the layout at.packed.
func (a *Array[T]) gather(ctx context.Context, data []T) error {
	return a.transfer(ctx, coherence.Read, data)
}

// scatter overwrites the elements with data, in the order of their places.
func (a *Array[T]) scatter(ctx context.Context, data []T) error {
	return a.transfer(ctx, coherence.Overwrite, data)
}
