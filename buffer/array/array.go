package array

import (
	"context"
	"fmt"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// Array gives the elements of a buffer, of any type that a buffer has, a shape. The place of element (i, j, ...) in the buffer is the offset plus i times the first
// stride plus j times the second, and so on, all counted in elements. Views of an array share its buffer. The shape of an
// array never changes. The zero Array is not usable.
type Array[T buffer.Element] struct {
	b    *buffer.Buffer[T] // of all elements, also for a view
	at   layout
	lent bool // the program owns the buffer, and closes it
	view bool
}

// New returns an array of zeros, row-major. Without extents, the array has one
// element and no axes. A place allocates memory only when it is first used.
//
// If an extent is negative, or there are more than [MaxRank] axes, the error is of kind ErrInvalidArgument; if the
// number of elements, with extents of 0 counted as 1, exceeds the range of int, of kind ErrOutOfRange.
func New[T buffer.Element](shape ...int) (*Array[T], error) {
	return create[T]("New", shape)
}

func create[T buffer.Element](op string, shape []int) (*Array[T], error) {
	n, err := count(op, shape)
	if err != nil {
		return nil, err
	}
	b, err := buffer.New[T](n)
	if err != nil {
		return nil, err
	}
	return &Array[T]{b: b, at: dense(shape)}, nil
}

// From returns a row-major array with a copy of data, which must have as many elements as the shape. For data in column-major order,
// reverse the extents and [Array.Transpose] the result.
func From[T buffer.Element](data []T, shape ...int) (*Array[T], error) {
	const op = "From"
	n, err := count(op, shape)
	if err != nil {
		return nil, err
	}
	if n != len(data) {
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "the data has %d elements instead of the %d of shape %v", len(data), n, shape)
	}
	b, err := buffer.From(data)
	if err != nil {
		return nil, err
	}
	return &Array[T]{b: b, at: dense(shape)}, nil
}

// FromBuffer returns a row-major array over a buffer or a slice of a buffer, which must have as many elements as the
// shape. For a column-major array, reverse the extents and [Array.Transpose] the result.
// Nothing is copied. The program still owns the buffer and closes it.
func FromBuffer[T buffer.Element](b *buffer.Buffer[T], shape ...int) (*Array[T], error) {
	const op = "FromBuffer"
	n, err := count(op, shape)
	switch {
	case err != nil:
		return nil, err
	case b == nil:
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "nil buffer")
	case n != b.Len():
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "the buffer has %d elements instead of the %d of shape %v", b.Len(), n, shape)
	}
	return &Array[T]{b: b, lent: true, at: dense(shape)}, nil
}

// FromStrides returns an array over part of a buffer with the given layout: offset and strides are
// in elements, and strides may be negative. Nothing is copied. The program still owns the buffer and closes it.
//
// If the layout leads outside the buffer, the error is of kind ErrOutOfRange. If two elements would have the same
// place, or the strides do not nest, it is of kind ErrInvalidArgument. Strides nest if each stride is at least the number of places that
// the axes with smaller strides span.
func FromStrides[T buffer.Element](b *buffer.Buffer[T], offset int, shape, strides []int) (*Array[T], error) {
	const op = "FromStrides"
	if b == nil {
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "nil buffer")
	}
	l, err := strided(op, b.Len(), offset, shape, strides)
	if err != nil {
		return nil, err
	}
	return &Array[T]{b: b, lent: true, at: l}, nil
}

// check returns an error for a nil or zero Array.
func (a *Array[T]) check(op string) error {
	if a == nil || a.b == nil {
		return hal.Errorf(op, hal.ErrInvalidArgument, "nil or zero array; make arrays with New, From or FromBuffer")
	}
	return nil
}

// Shape returns a copy of the extents of the axes.
func (a *Array[T]) Shape() []int { return append([]int{}, a.laid().shape...) }

// Strides returns a copy of the strides: for each axis, the distance in the buffer between neighbouring elements, counted in elements.
func (a *Array[T]) Strides() []int { return append([]int{}, a.laid().strides...) }

// Offset returns the place in the buffer of the element whose indices are all 0.
func (a *Array[T]) Offset() int { return a.laid().off }

// laid returns the layout, of a nil Array too.
func (a *Array[T]) laid() layout {
	if a == nil {
		return layout{}
	}
	return a.at
}

// String says which shape and elements the array has, for fmt.Println and logs. It does not look at the elements.
func (a *Array[T]) String() string {
	var element T
	if a == nil || a.b == nil {
		return fmt.Sprintf("no array of %T", element)
	}
	return fmt.Sprintf("array of shape %v in a %v", a.at.shape, a.b)
}

// Len returns the number of elements.
func (a *Array[T]) Len() int {
	if a == nil || a.b == nil {
		return 0
	}
	return a.at.length()
}

// part returns a range of the buffer.
func (a *Array[T]) part(s span) (*buffer.Buffer[T], error) {
	if s.lo == 0 && s.hi == a.b.Len() {
		return a.b, nil
	}
	return a.b.Slice(s.lo, s.hi)
}

// Buffer returns the elements, in row-major order, as a buffer, which is closed with the array. If the array is not contiguous in that
// order, the error is of kind ErrUnsupported: code that pairs the elements of two arrays by position would pair the wrong ones.
// [Array.Pack] makes a copy in row-major order. The elements of a column-major array in the order of memory are those of its
// [Array.Transpose].
func (a *Array[T]) Buffer() (*buffer.Buffer[T], error) {
	b, err := a.whole("Buffer")
	if err == nil && b == a.b {
		return b.Slice(0, b.Len())
	}
	return b, err
}

func (a *Array[T]) whole(op string) (*buffer.Buffer[T], error) {
	if err := a.check(op); err != nil {
		return nil, err
	}
	if a.at.contiguous() {
		return a.part(a.at.hull())
	}
	if turned := a.at.reversed(); turned.contiguous() {
		return nil, hal.Errorf(op, hal.ErrUnsupported, "shape %v with strides %v is column-major; Pack makes a row-major copy, and "+
			"Transpose().%s() has the elements in the order of memory", a.at.shape, a.at.strides, op)
	}
	return nil, hal.Errorf(op, hal.ErrUnsupported, "shape %v with strides %v is not contiguous; Pack makes a contiguous copy",
		a.at.shape, a.at.strides)
}

// Want names the elements for [buffer.AcquireAll], and for kernels. If [Array.Buffer] fails for the array, AcquireAll fails with the same
// error.
func (a *Array[T]) Want(mode coherence.Mode) buffer.Want {
	b, err := a.whole("Want")
	if err != nil {
		return buffer.NoWant(err)
	}
	return b.Want(mode)
}

// AcquireStrided is [buffer.Buffer.Acquire] for any array. The lease's region reaches from the array's first to its last element in the
// buffer. In that region, counted in elements, the element with indices i, j, ... is at the second result of
// [Array.Bounds] plus i, j, ... times [Array.Strides]. Elements in the gaps are not made current and must not be used: they may be stale,
// and other accesses may use them. If the array fills more than 4096 separate ranges, some gaps are acquired too, as for
// [Array.View]; such an array is acquired for reading and writing even if the mode is coherence.Overwrite.
func (a *Array[T]) AcquireStrided(ctx context.Context, stream *hal.Stream, mode coherence.Mode) (buffer.Lease, error) {
	const op = "AcquireStrided"
	if err := a.check(op); err != nil {
		return buffer.Lease{}, err
	}
	pieces := ranges(a.at.pieces(maxRuns))
	held := 0
	for _, p := range pieces {
		held += p.Hi - p.Lo
	}
	if mode == coherence.Overwrite && held > a.Len() {
		mode = coherence.ReadWrite
	}
	return a.b.AcquireRanges(ctx, stream, mode, pieces)
}

// Close closes the array's buffer. If the array is a view, or was made over a buffer of the program, Close closes
// nothing and the error is of kind ErrInvalidArgument.
func (a *Array[T]) Close() error {
	const op = "close array"
	if err := a.check(op); err != nil {
		return err
	}
	switch {
	case a.view:
		return hal.Errorf(op, hal.ErrInvalidArgument, "a view is closed with its array")
	case a.lent:
		return hal.Errorf(op, hal.ErrInvalidArgument, "the array does not own its buffer; close the buffer itself")
	}
	return a.b.Close()
}
