package encode

import (
	"encoding"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/encode/npy"
	"github.com/go-halyard/halyard/hal"
)

var (
	_ encoding.BinaryMarshaler   = Bytes[int8]{}
	_ encoding.BinaryUnmarshaler = Bytes[int8]{}
)

// MarshalBinary returns the elements as the contents of an .npy file with one axis. The file states their
// type, number and byte order. It implements [encoding.BinaryMarshaler].
func (x Bytes[T]) MarshalBinary() (data []byte, err error) {
	if err := x.check("MarshalBinary"); err != nil {
		return nil, err
	}
	err = x.b.View(x.ctx, func(s []T) (err error) {
		data, err = npy.Append(nil, false, []int{len(s)}, s)
		return err
	})
	return data, err
}

// UnmarshalBinary sets the elements from the result of MarshalBinary, which may come from a machine with the other byte
// order. [npy.Decode] returns the elements where their number is not known. If the data is malformed, or has another type or number of
// elements, the error is of kind ErrInvalidArgument and nothing is written. It implements [encoding.BinaryUnmarshaler].
func (x Bytes[T]) UnmarshalBinary(data []byte) error {
	const op = "UnmarshalBinary"
	if err := x.check(op); err != nil {
		return err
	}
	values, err := decode[T](op, data)
	if err != nil {
		return err
	}
	if len(values) != x.b.Len() {
		return hal.Errorf(op, hal.ErrInvalidArgument, "the data has %d elements, but the buffer has %d", len(values), x.b.Len())
	}
	return x.b.Overwrite(x.ctx, func(s []T) error { copy(s, values); return nil })
}

func decode[T buffer.Number](op string, data []byte) ([]T, error) {
	h, values, err := npy.Decode[T](data)
	if err != nil {
		return nil, err
	}
	if len(h.Shape) != 1 {
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "the data is an array of shape %v, which package array can read", h.Shape)
	}
	return values, nil
}
