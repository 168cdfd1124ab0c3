package array

import (
	"iter"
	"slices"
	"sync/atomic"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
)

// Accessor is the elements of an array on the host, for the function that was given it and until that
// returns; afterwards its methods refuse. What its slices and pointers lead to must not be kept
// either, and must not be changed within [Array.View].
//
// A Grid may be used by several goroutines that keep to different elements.
type Accessor[T buffer.Element] struct {
	data   []T
	at     *layout
	open   *atomic.Bool
	writes bool
}

// within runs fn on a grid that is open for that time alone.
func within[T buffer.Element](data []T, at *layout, writes bool, fn func(Accessor[T]) error) error {
	open := new(atomic.Bool)
	open.Store(true)
	defer open.Store(false)
	return fn(Accessor[T]{data, at, open, writes})
}

func (g *Accessor[T]) check(op string) error {
	if g.open == nil || !g.open.Load() {
		return hal.Errorf(op, hal.ErrClosed, "the grid is that of an access that has ended")
	}
	return nil
}

// Shape is the extent of each axis, as a copy.
func (g Accessor[T]) Shape() []int {
	if g.at == nil {
		return nil
	}
	return slices.Clone(g.at.shape)
}

// Len is the number of elements.
func (g Accessor[T]) Len() int {
	if g.at == nil {
		return 0
	}
	return g.at.length()
}

// At returns an element. An index that does not exist is of kind ErrOutOfRange, the wrong number of
// them of kind ErrInvalidArgument.
func (g Accessor[T]) At(index ...int) (value T, err error) {
	const op = "grid At"
	if err := g.check(op); err != nil {
		return value, err
	}
	p, err := g.at.place(op, index)
	if err != nil {
		return value, err
	}
	return g.data[p], nil
}

// Set changes an element, with the errors of [Grid.At]. Within [Array.View] it is of kind
// ErrInvalidArgument.
func (g Accessor[T]) Set(value T, index ...int) error {
	const op = "grid Set"
	if err := g.check(op); err != nil {
		return err
	}
	if !g.writes {
		return hal.Errorf(op, hal.ErrInvalidArgument, "the access is for reading")
	}
	p, err := g.at.place(op, index)
	if err != nil {
		return err
	}
	g.data[p] = value
	return nil
}

// Slice is all elements as one slice, in the given order, if they are contiguous in it; if not, the error is
// of kind ErrUnsupported.
func (g Accessor[T]) Slice(order Order) ([]T, error) {
	const op = "grid Slice"
	if err := g.check(op); err != nil {
		return nil, err
	}
	if !g.at.contiguous(order) {
		return nil, hal.Errorf(op, hal.ErrUnsupported, "shape %v with strides %v is not contiguous in %v order", g.at.shape, g.at.strides, order)
	}
	return g.run(g.at.off, g.Len()), nil
}

// Row is the elements along the last axis as a slice; index has one index for every other axis. If they are
// not next to each other the error is of kind ErrUnsupported.
func (g Accessor[T]) Row(index ...int) ([]T, error) {
	const op = "grid Row"
	if err := g.check(op); err != nil {
		return nil, err
	}
	last := len(g.at.shape) - 1
	if last < 0 {
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "an array without axes has no rows")
	}
	n := g.at.shape[last]
	if n > 1 && g.at.strides[last] != 1 {
		return nil, hal.Errorf(op, hal.ErrUnsupported, "elements along the last axis are %d apart", g.at.strides[last])
	}
	outer := layout{g.at.shape[:last], g.at.strides[:last], g.at.off}
	p, err := outer.place(op, index)
	if err != nil {
		return nil, err
	}
	return g.run(p, n), nil
}

func (g *Accessor[T]) run(at, n int) []T { return g.data[at : at+n : at+n] }

// All yields a pointer to each element, counted off with the last index fastest.
func (g Accessor[T]) All() iter.Seq2[int, *T] {
	return func(yield func(int, *T) bool) {
		if g.check("grid All") != nil {
			return
		}
		shape, strides := g.at.shape, g.at.strides
		index := make([]int, len(shape))
		p := g.at.off
		for n := 0; ; n++ {
			if !yield(n, &g.data[p]) {
				return
			}
			k := len(shape) - 1
			for ; k >= 0; k-- {
				p += strides[k]
				if index[k]++; index[k] < shape[k] {
					break
				}
				p -= shape[k] * strides[k]
				index[k] = 0
			}
			if k < 0 {
				return
			}
		}
	}
}

// CopyOut copies all elements to dst, which has as many, in the given order.
func (g Accessor[T]) CopyOut(order Order, dst []T) error {
	const op = "grid CopyOut"
	to, err := g.packed(op, order, len(dst))
	if err != nil {
		return err
	}
	copyElements(dst, &to, g.data, g.at)
	return nil
}

// CopyIn sets all elements from src, which has as many, in the given order. Within [Array.View] it is of
// kind ErrInvalidArgument.
func (g Accessor[T]) CopyIn(order Order, src []T) error {
	const op = "grid CopyIn"
	from, err := g.packed(op, order, len(src))
	if err != nil {
		return err
	}
	if !g.writes {
		return hal.Errorf(op, hal.ErrInvalidArgument, "the access is for reading")
	}
	copyElements(g.data, g.at, src, &from)
	return nil
}

func (g *Accessor[T]) packed(op string, order Order, n int) (layout, error) {
	if err := g.check(op); err != nil {
		return layout{}, err
	}
	switch {
	case !order.known():
		return layout{}, hal.Errorf(op, hal.ErrInvalidArgument, "%v is no order", order)
	case n != g.Len():
		return layout{}, hal.Errorf(op, hal.ErrInvalidArgument, "%d elements for the %d of shape %v", n, g.Len(), g.at.shape)
	}
	return dense(order, g.at.shape), nil
}
