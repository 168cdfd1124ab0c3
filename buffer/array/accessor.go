package array

import (
	"iter"
	"sync/atomic"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/hal"
)

// Accessor gives a function access to the elements of an array on the host. It is valid until the function
// returns; afterwards its methods return an error of kind ErrClosed. Slices and pointers from it must not be
// used afterwards either, and nothing may be written through them within [Array.View].
//
// Several goroutines may use an Accessor as long as they use different elements.
type Accessor[T buffer.Element] struct {
	data   []T
	at     *layout
	open   *atomic.Bool
	writes bool
}

// within runs fn on an accessor that is valid until fn returns.
func within[T buffer.Element](data []T, at *layout, writes bool, fn func(Accessor[T]) error) error {
	open := new(atomic.Bool)
	open.Store(true)
	defer open.Store(false)
	return fn(Accessor[T]{data, at, open, writes})
}

func (g *Accessor[T]) check(op string) error {
	if g.open == nil || !g.open.Load() {
		return hal.Errorf(op, hal.ErrClosed, "the access to the array has ended")
	}
	return nil
}

// At returns an element. If an index is out of range, the error is of kind ErrOutOfRange; if the number of
// indices is wrong, of kind ErrInvalidArgument.
func (g Accessor[T]) At(index ...int) (value T, err error) {
	const op = "accessor At"
	if err := g.check(op); err != nil {
		return value, err
	}
	p, err := g.at.place(op, index)
	if err != nil {
		return value, err
	}
	return g.data[p], nil
}

// Set changes an element, with the errors of [Accessor.At]. Within [Array.View] the error is of kind
// ErrInvalidArgument.
func (g Accessor[T]) Set(value T, index ...int) error {
	const op = "accessor Set"
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

// Slice returns all elements as one slice, in row-major order. If they do not follow each other in that order without gaps, the error is of
// kind ErrUnsupported.
func (g Accessor[T]) Slice() ([]T, error) {
	const op = "accessor Slice"
	if err := g.check(op); err != nil {
		return nil, err
	}
	if !g.at.contiguous() {
		return nil, hal.Errorf(op, hal.ErrUnsupported, "shape %v with strides %v is not contiguous in row-major order", g.at.shape, g.at.strides)
	}
	return g.run(g.at.off, g.at.length()), nil
}

// Row returns the elements along the last axis as a slice; index has one index for every other axis. If the
// elements are not adjacent, the error is of kind ErrUnsupported.
func (g Accessor[T]) Row(index ...int) ([]T, error) {
	const op = "accessor Row"
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

func (g *Accessor[T]) run(at, n int) []T {
	if n == 0 { // then at need not lie in data
		return []T{}
	}
	return g.data[at : at+n : at+n]
}

// All yields a number and a pointer for each element, with the last index varying fastest. After the access it
// yields nothing.
func (g Accessor[T]) All() iter.Seq2[int, *T] {
	return func(yield func(int, *T) bool) {
		if g.check("accessor All") != nil || g.at.empty() {
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
