package array

import (
	"context"

	"github.com/go-halyard/halyard/hal"
)

// Pack returns a new contiguous array with a copy of the elements, in the given order. If no order is given, it is the array's own
// [Array.Order], or row-major if the array has none.
//
// If the array is contiguous in that order, [buffer.Buffer.Clone] copies it at the place where it is current, which may be a device.
// Otherwise only the elements are moved to the host, and copied there.
func (a *Array[T]) Pack(ctx context.Context, order ...Order) (*Array[T], error) {
	const op = "Pack"
	if err := a.check(op); err != nil {
		return nil, err
	}
	to, _ := a.at.order()
	switch {
	case len(order) > 1:
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "%d orders; Pack takes one", len(order))
	case len(order) == 1 && !order[0].known():
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "invalid order %v", order[0])
	case len(order) == 1:
		to = order[0]
	}
	return a.pack(ctx, op, to)
}

func (a *Array[T]) pack(ctx context.Context, op string, order Order) (*Array[T], error) {
	if a.at.contiguous(order) {
		b, err := a.Buffer()
		if err == nil {
			b, err = b.Clone(ctx)
		}
		if err != nil {
			return nil, err
		}
		return &Array[T]{b: b, at: dense(order, a.at.shape)}, nil
	}
	c, err := create[T](op, order, a.at.shape)
	if err != nil {
		return nil, err
	}
	if err := c.b.Overwrite(ctx, func(s []T) error { return a.read(ctx, &c.at, s) }); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// read copies the elements to dst, in the layout to.
func (a *Array[T]) read(ctx context.Context, to *layout, dst []T) error {
	from := a.at.packed()
	if to.same(&from) {
		return a.gather(ctx, dst)
	}
	data := make([]T, len(dst))
	if err := a.gather(ctx, data); err != nil {
		return err
	}
	copyElements(dst, to, data, &from)
	return nil
}

// Values returns a copy of the elements in row-major order.
func (a *Array[T]) Values(ctx context.Context) ([]T, error) {
	if err := a.check("Values"); err != nil {
		return nil, err
	}
	to := dense(RowMajor, a.at.shape)
	out := make([]T, a.Len())
	if err := a.read(ctx, &to, out); err != nil {
		return nil, err
	}
	return out, nil
}
