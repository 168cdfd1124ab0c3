package array

import (
	"cmp"
	"context"
	"errors"
	"slices"

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
	if err := layer.Ended(op, ctx); err != nil {
		return err
	}
	to := a.at.packed()
	data := make([]T, a.Len())
	if err := within(data, &to, true, fn); err != nil {
		return err
	}
	return a.scatter(ctx, op, data)
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
	run := struct {
		at  layout
		ran bool
	}{at: a.at}
	if len(pieces) > 0 {
		run.at.off -= pieces[0].Lo
	}
	err := a.b.AccessRanges(ctx, mode, pieces, func(s []T) error {
		run.ran = true
		return within(s, &run.at, mode != coherence.Read, fn)
	})
	if run.ran {
		return err // the program's
	}
	return layer.Called(op, err)
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
func (a *Array[T]) transfer(ctx context.Context, op string, mode coherence.Mode, data []T) error {
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
		return layer.Called(op, err)
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
func (a *Array[T]) gather(ctx context.Context, op string, data []T) error {
	return a.transfer(ctx, op, coherence.Read, data)
}

// scatter overwrites the elements with data, in the order of their places.
func (a *Array[T]) scatter(ctx context.Context, op string, data []T) error {
	return a.transfer(ctx, op, coherence.Overwrite, data)
}

// At returns one element, and moves only that element to the host. If an index is out of range, the error is of kind ErrOutOfRange; if the
// number of indices is wrong, of kind ErrInvalidArgument. For many elements [Array.View] costs less.
func (a *Array[T]) At(ctx context.Context, index ...int) (value T, err error) {
	const op = "At"
	b, err := a.element(op, index)
	if err != nil {
		return value, err
	}
	err = b.View(ctx, func(s []T) error { value = s[0]; return nil })
	return value, layer.Called(op, err)
}

// Set changes one element, with the errors of [Array.At]. Only that element becomes stale in other replicas. Nothing is moved.
func (a *Array[T]) Set(ctx context.Context, value T, index ...int) error {
	const op = "Set"
	b, err := a.element(op, index)
	if err != nil {
		return err
	}
	return layer.Called(op, b.Overwrite(ctx, func(s []T) error { s[0] = value; return nil }))
}

func (a *Array[T]) element(op string, index []int) (*buffer.Buffer[T], error) {
	if err := a.check(op); err != nil {
		return nil, err
	}
	p, err := a.at.place(op, index)
	if err != nil {
		return nil, err
	}
	return a.b.Slice(p, p+1)
}

// Element returns the zero value of the element type: launchers of kernels in Go ask for it (see
// [github.com/go-halyard/halyard/kernel.Vector]).
func (a *Array[T]) Element() (zero T) { return zero }

// Pack returns a new row-major array with a copy of the elements. (For a copy in column-major order, Pack the [Array.Transpose], and Transpose
// the result.)
//
// If the array is row-major and has no gaps, [buffer.Buffer.Clone] copies it at the place where it is current, which may be a device.
// Otherwise only the elements are moved to the host, and copied there.
func (a *Array[T]) Pack(ctx context.Context) (*Array[T], error) {
	const op = "Pack"
	if err := a.check(op); err != nil {
		return nil, err
	}
	if a.at.contiguous() {
		b, err := a.part(a.at.hull())
		if err == nil {
			b, err = b.Clone(ctx)
		}
		if err != nil {
			return nil, layer.Called(op, err)
		}
		return &Array[T]{b: b, at: dense(a.at.shape)}, nil
	}
	c, err := create[T](op, a.at.shape)
	if err != nil {
		return nil, err
	}
	if err := c.b.Overwrite(ctx, func(s []T) error { return a.read(ctx, op, &c.at, s) }); err != nil {
		_ = c.Close()
		return nil, layer.Called(op, err)
	}
	return c, nil
}

// CopyFrom copies each element of src, which must have the same shape, to the element with the same indices. The orders and strides of the
// two arrays may differ, and they may share elements. If both fill unbroken ranges in the same order of memory and share none,
// [buffer.Buffer.CopyFrom] copies them, where they are current. Otherwise the elements of src are moved to the host and go through temporary
// memory; if they fill more than 4096 separate ranges of the array, other accesses may see a part of the copy.
func (a *Array[T]) CopyFrom(ctx context.Context, src *Array[T]) error {
	const op = "CopyFrom"
	if err := cmp.Or(a.check(op), src.check(op)); err != nil {
		return err
	}
	if !slices.Equal(a.at.shape, src.at.shape) {
		return hal.Errorf(op, hal.ErrInvalidArgument, "the array has shape %v, the source %v", a.at.shape, src.at.shape)
	}
	to, from := a.at.packed(), src.at.packed()
	if to.same(&from) && a.solid() && src.solid() {
		b, err := a.part(a.at.hull())
		var c *buffer.Buffer[T]
		if err == nil {
			c, err = src.part(src.at.hull())
		}
		if err == nil {
			err = b.CopyFrom(ctx, c)
		}
		if !errors.Is(err, hal.ErrOverlap) {
			return err
		}
	}
	data := make([]T, a.Len())
	if err := src.read(ctx, op, &to, data); err != nil {
		return err
	}
	return a.scatter(ctx, op, data)
}

// read copies the elements to dst, in the layout to.
func (a *Array[T]) read(ctx context.Context, op string, to *layout, dst []T) error {
	from := a.at.packed()
	if to.same(&from) {
		return a.gather(ctx, op, dst)
	}
	data := make([]T, len(dst))
	if err := a.gather(ctx, op, data); err != nil {
		return err
	}
	copyElements(dst, to, data, &from)
	return nil
}

// Values returns a copy of the elements in row-major order.
func (a *Array[T]) Values(ctx context.Context) ([]T, error) {
	return a.values(ctx, "Values")
}

func (a *Array[T]) values(ctx context.Context, op string) ([]T, error) {
	if err := a.check(op); err != nil {
		return nil, err
	}
	to := dense(a.at.shape)
	out := make([]T, a.Len())
	if err := a.read(ctx, op, &to, out); err != nil {
		return nil, err
	}
	return out, nil
}
