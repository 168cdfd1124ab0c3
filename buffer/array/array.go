package array

import (
	"context"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// Array gives the elements of a buffer a shape: element (i, j, ...) is found at the offset plus i, j, ...
// times the strides, all counted in elements. Views of an array share its buffer. An array does not change
// its shape, except that [Array.UnmarshalBinary] makes one out of the zero Array, which is none.
type Array[T buffer.Element] struct {
	root *root[T]
	at   layout
	view bool
}

// root is what an array and all its views share.
type root[T buffer.Element] struct {
	b     *buffer.Buffer[T]
	lent  bool // the buffer is the program's, not made here
	value *fill[T]
}

// New returns an array of zeros, row-major. Every extent is at least 1; without any, the array has one
// element and no axes. No memory is taken before a place is used.
//
// A shape with an extent below 1, or with more than [MaxRank] axes, is of kind ErrInvalidArgument, one with more
// elements than can be counted of kind ErrOutOfRange.
func New[T buffer.Element](shape ...int) (*Array[T], error) {
	return NewIn[T](RowMajor, shape...)
}

// NewIn is [New] with a choice of the order.
func NewIn[T buffer.Element](order Order, shape ...int) (*Array[T], error) {
	return create[T]("New", order, shape)
}

// Zeros is [New], by the name that it has elsewhere.
func Zeros[T buffer.Element](shape ...int) (*Array[T], error) {
	return NewIn[T](RowMajor, shape...)
}

// Like returns an array of zeros with the shape of a, column-major if a is contiguous in that order alone, else
// row-major.
func Like[T buffer.Element](a *Array[T]) (*Array[T], error) {
	const op = "Like"
	if err := a.check(op); err != nil {
		return nil, err
	}
	order, _ := a.at.order()
	return create[T](op, order, a.at.shape)
}

func create[T buffer.Element](op string, order Order, shape []int) (*Array[T], error) {
	n, err := plan(op, order, shape)
	if err != nil {
		return nil, err
	}
	b, err := buffer.New[T](n)
	if err != nil {
		return nil, err
	}
	return &Array[T]{root: &root[T]{b: b}, at: dense(order, shape)}, nil
}

func plan(op string, order Order, shape []int) (n int, err error) {
	if !order.known() {
		return 0, hal.Errorf(op, hal.ErrInvalidArgument, "%v is no order", order)
	}
	return count(op, shape)
}

// From returns a row-major array with a copy of data, of which there must be as much as the shape has
// elements.
func From[T buffer.Element](data []T, shape ...int) (*Array[T], error) {
	return FromIn(RowMajor, data, shape...)
}

// FromIn is [From] for data that lies in the given order.
func FromIn[T buffer.Element](order Order, data []T, shape ...int) (*Array[T], error) {
	const op = "From"
	n, err := plan(op, order, shape)
	if err != nil {
		return nil, err
	}
	if n != len(data) {
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "%d elements for the %d of shape %v", len(data), n, shape)
	}
	b, err := buffer.From(data)
	if err != nil {
		return nil, err
	}
	return &Array[T]{root: &root[T]{b: b}, at: dense(order, shape)}, nil
}

// FromBuffer returns a row-major array over a buffer or a slice of one, which must have as many elements as the
// shape. Nothing is copied. The buffer stays the program's, which closes it.
func FromBuffer[T buffer.Element](b *buffer.Buffer[T], shape ...int) (*Array[T], error) {
	return FromBufferIn(RowMajor, b, shape...)
}

// FromBufferIn is [FromBuffer] with a choice of the order.
func FromBufferIn[T buffer.Element](order Order, b *buffer.Buffer[T], shape ...int) (*Array[T], error) {
	const op = "FromBuffer"
	n, err := plan(op, order, shape)
	switch {
	case err != nil:
		return nil, err
	case b == nil:
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "nil buffer")
	case n != b.Len():
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "a buffer of %d elements for the %d of shape %v", b.Len(), n, shape)
	}
	return &Array[T]{root: &root[T]{b: b, lent: true}, at: dense(order, shape)}, nil
}

// FromStrides returns an array over part of a buffer, as somebody else has laid it out: offset and strides are
// in elements, and strides may be negative. Nothing is copied, and the buffer stays the program's.
//
// A layout that leads outside the buffer is of kind ErrOutOfRange. Strides that give two elements one place, or
// that do not nest (each axis, sorted by stride, must step over all that the smaller strides reach), are of
// kind ErrInvalidArgument.
func FromStrides[T buffer.Element](b *buffer.Buffer[T], offset int, shape, strides []int) (*Array[T], error) {
	const op = "FromStrides"
	if b == nil {
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "nil buffer")
	}
	l, err := strided(op, b.Len(), offset, shape, strides)
	if err != nil {
		return nil, err
	}
	return &Array[T]{root: &root[T]{b: b, lent: true}, at: l}, nil
}

// check refuses what is not an array.
func (a *Array[T]) check(op string) error {
	if a == nil || a.root == nil {
		return hal.Errorf(op, hal.ErrInvalidArgument, "not an array; make one with New, From or FromBuffer")
	}
	return nil
}

// Shape is the extent of each axis, as a copy.
func (a *Array[T]) Shape() []int { return append([]int{}, a.at.shape...) }

// Strides is, for each axis, how many elements apart neighbours are in the buffer, as a copy.
func (a *Array[T]) Strides() []int { return append([]int{}, a.at.strides...) }

// Offset is where the buffer has the element whose indices are all 0.
func (a *Array[T]) Offset() int { return a.at.off }

// Rank is the number of axes.
func (a *Array[T]) Rank() int { return len(a.at.shape) }

// Len is the number of elements.
func (a *Array[T]) Len() int {
	if a.root == nil {
		return 0
	}
	return a.at.length()
}

// IsContiguous reports whether the elements follow each other in the order, without gaps. An array
// of one row or column is contiguous in both orders.
func (a *Array[T]) IsContiguous(order Order) bool {
	return a.root != nil && a.at.contiguous(order)
}

// Order is the order in which the array is contiguous, row-major if it is in both; ok is false if it
// is in none.
func (a *Array[T]) Order() (order Order, ok bool) {
	if a.root == nil {
		return RowMajor, false
	}
	return a.at.order()
}

// State describes where the elements are current, and with them those in the gaps between them.
func (a *Array[T]) State() buffer.State {
	if a.root == nil {
		return buffer.State{}
	}
	b, err := a.part(a.at.hull())
	if err != nil {
		return buffer.State{}
	}
	return b.State()
}

// Stats returns the counters of the whole buffer.
func (a *Array[T]) Stats() buffer.Stats {
	if a.root == nil {
		return buffer.Stats{}
	}
	return a.root.b.Stats()
}

// part is a range of the buffer.
func (a *Array[T]) part(s span) (*buffer.Buffer[T], error) {
	if s.lo == 0 && s.hi == a.root.b.Len() {
		return a.root.b, nil
	}
	return a.root.b.Slice(s.lo, s.hi)
}

// Buffer is exactly the elements of a contiguous array as a buffer, for all that can be done with one.
// It is closed with the array. An array with gaps, or in neither order, is of kind ErrUnsupported:
// [Array.Pack] makes one without. ctx is for the value of a [Full] array that no place holds yet.
func (a *Array[T]) Buffer(ctx context.Context) (*buffer.Buffer[T], error) {
	const op = "Buffer"
	b, err := a.whole(op)
	if err != nil {
		return nil, err
	}
	if err := a.root.onHost(ctx); err != nil {
		return nil, err
	}
	if b == a.root.b {
		return b.Slice(0, b.Len())
	}
	return b, nil
}

func (a *Array[T]) whole(op string) (*buffer.Buffer[T], error) {
	if err := a.check(op); err != nil {
		return nil, err
	}
	if _, ok := a.at.order(); !ok {
		return nil, hal.Errorf(op, hal.ErrUnsupported, "shape %v with strides %v is not contiguous; Pack makes a contiguous copy", a.at.shape, a.at.strides)
	}
	return a.part(a.at.hull())
}

// TryAcquire makes the elements of a contiguous array current on the stream's device and returns a lease on
// them, in the array's [Array.Order]. It is [buffer.Buffer.TryAcquire] of exactly the array's
// elements. An array that is not contiguous is of kind ErrUnsupported: [Array.Pack] makes one that is.
func (a *Array[T]) TryAcquire(stream *hal.Stream, mode coherence.Mode) (buffer.Lease, error) {
	b, err := a.ready("Acquire", stream)
	if err != nil {
		return buffer.Lease{}, err
	}
	return b.TryAcquire(stream, mode)
}

// Acquire is TryAcquire, but waits for accesses that exclude it, until ctx ends.
func (a *Array[T]) Acquire(ctx context.Context, stream *hal.Stream, mode coherence.Mode) (buffer.Lease, error) {
	b, err := a.ready("Acquire", stream)
	if err != nil {
		return buffer.Lease{}, err
	}
	return b.Acquire(ctx, stream, mode)
}

func (a *Array[T]) ready(op string, stream *hal.Stream) (*buffer.Buffer[T], error) {
	b, err := a.whole(op)
	if err != nil {
		return nil, err
	}
	if stream == nil {
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "nil stream")
	}
	return b, a.root.onDevice(stream)
}

// AcquireStrided is Acquire for any array. The lease's region is from the first of the elements in the
// buffer to the last, and has the element with indices i, j, ... at [Array.Origin] plus i, j, ... times
// [Array.Strides], in elements. What lies in the gaps is not brought there, and is to be left alone: it may be old, and
// somebody else may be at it. The exception is an array that fills more than 4096 separate ranges, as for [Array.View];
// with coherence.Overwrite such an array is acquired for reading and writing.
func (a *Array[T]) AcquireStrided(ctx context.Context, stream *hal.Stream, mode coherence.Mode) (buffer.Lease, error) {
	const op = "AcquireStrided"
	if err := a.check(op); err != nil {
		return buffer.Lease{}, err
	}
	if stream == nil {
		return buffer.Lease{}, hal.Errorf(op, hal.ErrInvalidArgument, "nil stream")
	}
	if err := a.root.onDevice(stream); err != nil {
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
	return a.root.b.AcquireRanges(ctx, stream, mode, pieces)
}

// Origin is how many elements behind the first of the array's elements in the buffer the one is whose indices are
// all 0: more than 0 only if a stride is negative.
func (a *Array[T]) Origin() int {
	if a.root == nil {
		return 0
	}
	return a.at.off - a.at.hull().lo
}

// Close closes the buffer of an array that made it. Views and arrays over the program's own buffer are
// not closed, which gives an error of kind ErrInvalidArgument.
func (a *Array[T]) Close() error {
	const op = "close array"
	if err := a.check(op); err != nil {
		return err
	}
	switch {
	case a.view:
		return hal.Errorf(op, hal.ErrInvalidArgument, "a view is closed with its array")
	case a.root.lent:
		return hal.Errorf(op, hal.ErrInvalidArgument, "the array is over a buffer of the program's, which closes it")
	}
	return a.root.b.Close()
}
