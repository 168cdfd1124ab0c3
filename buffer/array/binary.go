package array

import (
	"context"
	"encoding"
	"slices"

	"github.com/go-halyard/halyard/buffer/encode/npy"
	"github.com/go-halyard/halyard/hal"
)

var (
	_ encoding.BinaryMarshaler   = (*Array[int8])(nil)
	_ encoding.BinaryUnmarshaler = (*Array[int8])(nil)
)

// MarshalBinary returns the contents of the .npy file that [Array.WriteNPY] writes. It implements
// [encoding.BinaryMarshaler], so encoding/gob can encode arrays. It waits without a limit; WriteNPY takes a context.
func (a *Array[T]) MarshalBinary() (file []byte, err error) {
	if err := a.check("MarshalBinary"); err != nil {
		return nil, err
	}
	err = a.inOrder(context.Background(), func(fortran bool, data []T) (err error) {
		file, err = npy.Append(nil, fortran, a.at.shape, data)
		return err
	})
	return file, err
}

// UnmarshalBinary sets the elements from the contents of an .npy file of the same shape, in either
// order. Called on the zero Array, it makes a new array in the file's order, which the caller closes; that is not
// safe for concurrent use. It implements [encoding.BinaryUnmarshaler].
//
// The errors are those of [ReadNPY]; if the shape differs, or bytes follow the elements, the error is of kind
// ErrInvalidArgument. After an error the array is unchanged.
func (a *Array[T]) UnmarshalBinary(file []byte) error {
	const op = "UnmarshalBinary"
	if a == nil {
		return hal.Errorf(op, hal.ErrInvalidArgument, "nil array")
	}
	h, data, err := npy.Decode[T](file)
	if err != nil {
		return err
	}
	if err := holds(op, h); err != nil {
		return err
	}
	if a.root == nil {
		b, err := FromIn(orderOf(h), data, h.Shape...)
		if err != nil {
			return err
		}
		*a = *b
		return nil
	}
	if !slices.Equal(a.at.shape, h.Shape) {
		return hal.Errorf(op, hal.ErrInvalidArgument, "the file has shape %v, but the array has shape %v", h.Shape, a.at.shape)
	}
	from, to := dense(orderOf(h), h.Shape), a.at.packed()
	if !from.same(&to) {
		moved := make([]T, len(data))
		copyElements(moved, &to, data, &from)
		data = moved
	}
	return a.scatter(context.Background(), data)
}
