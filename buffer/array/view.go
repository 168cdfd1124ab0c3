package array

import (
	"math"
	"slices"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
)

func (a *Array[T]) derive(l layout, err error) (*Array[T], error) {
	if err != nil {
		return nil, err
	}
	return &Array[T]{b: a.b, at: l, view: true}, nil
}

// Slice returns a view of the elements that the ranges select. The first range is for the first axis, and so on; an axis
// without a range is selected whole. If a range is outside the shape, the error is of kind ErrOutOfRange.
func (a *Array[T]) Slice(ranges ...Range) (*Array[T], error) {
	const op = "Slice"
	if err := a.check(op); err != nil {
		return nil, err
	}
	return a.derive(a.at.slice(op, ranges))
}

// Select returns a view of the elements with index i along the axis. The view lacks that axis.
func (a *Array[T]) Select(axis, i int) (*Array[T], error) {
	const op = "Select"
	if err := a.check(op); err != nil {
		return nil, err
	}
	return a.derive(a.at.choose(op, axis, i))
}

// Transpose returns a view with the axes in another order: axis k of the view is axis axes[k] of the array. Without
// arguments the order of the axes is reversed.
func (a *Array[T]) Transpose(axes ...int) (*Array[T], error) {
	const op = "Transpose"
	if err := a.check(op); err != nil {
		return nil, err
	}
	return a.derive(a.at.permute(op, axes))
}

// Reshape returns a view of the elements, in row-major order, under another shape with the same number of elements. One extent may be -1:
// it is computed from the others. Nothing is copied. If strides cannot express the new shape, as for most arrays with gaps, the
// error is of kind ErrUnsupported; [Array.Pack] makes a copy that can be reshaped.
func (a *Array[T]) Reshape(shape ...int) (*Array[T], error) {
	const op = "Reshape"
	if err := a.check(op); err != nil {
		return nil, err
	}
	if i := slices.Index(shape, -1); i >= 0 {
		whole := slices.Clone(shape)
		whole[i] = 1
		if rest, err := count(op, whole); err == nil && rest > 0 {
			whole[i] = a.Len() / rest // if that leaves a remainder, the number of elements differs
			shape = whole
		}
	}
	n, err := count(op, shape)
	if err != nil {
		return nil, err
	}
	if n != a.Len() {
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "shape %v has %d elements, shape %v has %d", shape, n, a.at.shape, a.Len())
	}
	l, ok := a.at.reshape(shape)
	if !ok {
		return nil, hal.Errorf(op, hal.ErrUnsupported,
			"shape %v with strides %v has no row-major view of shape %v; Pack makes a copy that can be reshaped",
			a.at.shape, a.at.strides, slices.Clone(shape))
	}
	return a.derive(l, nil)
}

// End, as the upper bound of a [Range], means the extent of the axis.
const End = math.MaxInt

// Range selects indices of one axis; [All] and [Between] make one. The zero Range is invalid.
type Range struct{ lo, hi, step int }

// All selects a whole axis.
func All() Range { return Range{0, End, 1} }

// Between selects the indices lo to hi-1; lo <= hi is required.
func Between(lo, hi int) Range { return Range{lo, hi, 1} }

// By returns the range with a step, which must not be 0: lo, lo+step, ... below hi. With a negative step the indices go down: hi-1,
// hi-1+step, ... not below lo.
func (r Range) By(step int) Range { return Range{r.lo, r.hi, step} }

// Bounds returns the smallest unbroken range of the buffer that contains all elements of the array, for code that finds elements by
// [Array.Strides]. first is the position in that range of the element whose indices are all 0. If the array is not contiguous,
// the range includes the gaps. The range is closed with the array.
func (a *Array[T]) Bounds() (b *buffer.Buffer[T], first int, err error) {
	if err := a.check("Bounds"); err != nil {
		return nil, 0, err
	}
	h := a.at.hull()
	b, err = a.b.Slice(h.lo, h.hi)
	return b, a.at.off - h.lo, err
}
