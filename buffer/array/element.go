package array

import (
	"context"

	"github.com/go-halyard/halyard/buffer"
)

// At returns one element, and moves only that element to the host. If an index is out of range, the error is of kind ErrOutOfRange; if the
// number of indices is wrong, of kind ErrInvalidArgument. For many elements [Array.View] costs less.
func (a *Array[T]) At(ctx context.Context, index ...int) (value T, err error) {
	b, err := a.element("At", index)
	if err != nil {
		return value, err
	}
	err = b.View(ctx, func(s []T) error { value = s[0]; return nil })
	return value, err
}

// Set changes one element, with the errors of [Array.At]. Only that element becomes stale in other replicas. Nothing is moved.
func (a *Array[T]) Set(ctx context.Context, value T, index ...int) error {
	b, err := a.element("Set", index)
	if err != nil {
		return err
	}
	return b.Overwrite(ctx, func(s []T) error { s[0] = value; return nil })
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
