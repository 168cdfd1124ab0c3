package npy

import (
	"bytes"

	"github.com/go-halyard/halyard/hal"
)

// Append appends the bytes that [Write] writes.
func Append[T any](dst []byte, fortran bool, shape []int, data []T) ([]byte, error) {
	b := bytes.NewBuffer(dst)
	if _, err := Write(b, fortran, shape, data); err != nil {
		return dst, err
	}
	return b.Bytes(), nil
}

// Decode reads a file that is in memory. Its errors are those of [ReadHeader] and [ReadData]; if bytes follow the elements,
// the error is of kind ErrInvalidArgument.
func Decode[T any](file []byte) (Header, []T, error) {
	r := bytes.NewReader(file)
	h, err := ReadHeader(r)
	if err != nil {
		return Header{}, nil, err
	}
	data, err := ReadData[T](r, h)
	if err == nil && r.Len() > 0 {
		err = hal.Errorf("read npy", hal.ErrInvalidArgument, "after %d bytes of elements the file has %d more bytes", len(raw(data)), r.Len())
	}
	if err != nil {
		return Header{}, nil, err
	}
	return h, data, nil
}

// TypeOf is the type of T.
func TypeOf[T any]() (Type, error) { return typeOf[T]() }
