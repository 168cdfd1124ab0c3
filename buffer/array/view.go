package array

import (
	"slices"

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

// Reshape returns a view of the elements, in row-major order, under another shape with the same number of elements.
// Nothing is copied. If strides cannot express the new shape, as for most arrays with gaps, the
// error is of kind ErrUnsupported; [Array.Pack] in row-major order makes a copy that can be reshaped.
func (a *Array[T]) Reshape(shape ...int) (*Array[T], error) {
	const op = "Reshape"
	if err := a.check(op); err != nil {
		return nil, err
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
			"shape %v with strides %v has no row-major view of shape %v; Pack(array.RowMajor) makes a copy that can be reshaped",
			a.at.shape, a.at.strides, slices.Clone(shape))
	}
	return a.derive(l, nil)
}
