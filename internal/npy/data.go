package npy

import (
	"io"
	"slices"
	"unsafe"

	"github.com/go-halyard/halyard/hal"
)

// chunk is the number of bytes that are allocated at first: a header may state more data than the file has.
const chunk = 1 << 20

// raw returns numbers as bytes.
func raw[T any](data []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), uintptr(len(data))*unsafe.Sizeof(zero))
}

// Write writes a file with the elements of data and returns the number of bytes written. fortran says that data is in
// column-major order. If the length of data does not match the shape, the error is of kind ErrInvalidArgument and
// nothing is written. Errors of the writer are returned unchanged.
func Write[T any](w io.Writer, fortran bool, shape []int, data []T) (int64, error) {
	h, err := NewHeader[T](fortran, shape)
	if err != nil {
		return 0, err
	}
	if n, err := h.Len(); err != nil {
		return 0, err
	} else if n != len(data) {
		return 0, hal.Errorf("write npy", hal.ErrInvalidArgument, "the data has %d elements instead of the %d of shape %v", len(data), n, shape)
	}
	head, err := h.Append(nil)
	if err != nil {
		return 0, err
	}
	n, err := w.Write(head)
	if err != nil || len(data) == 0 {
		return int64(n), err
	}
	m, err := w.Write(raw(data))
	return int64(n) + int64(m), err
}

// ReadData reads the elements that follow a header, and nothing after them, and converts them to this machine's byte
// order. Booleans are read as uint8, 0 or 1. If the elements are not of type T, the error is of kind ErrInvalidArgument. If the file ends
// early, the error is of that kind too and wraps io.ErrUnexpectedEOF, and at most a small multiple of the file's actual size has been
// allocated. Errors of the reader are wrapped.
func ReadData[T any](r io.Reader, h Header) ([]T, error) {
	const op = "read npy"
	n, err := fits[T](op, h)
	if err != nil {
		return nil, err
	}
	var data []T
	for len(data) < n {
		have := len(data)
		more := min(n-have, max(have, chunk/h.Type.Size, 1))
		data = slices.Grow(data, more)[:have+more]
		if _, err := io.ReadFull(r, raw(data[have:])); err != nil {
			return nil, unread(op, "the elements", err)
		}
	}
	h.Type.toNative(raw(data), h.BigEndian)
	return data, nil
}

func fits[T any](op string, h Header) (int, error) {
	n, err := h.Len()
	if err != nil {
		return 0, err
	}
	t, err := typeOf[T]()
	if err != nil {
		return 0, err
	}
	if !t.holds(h.Type) {
		return 0, hal.Errorf(op, hal.ErrInvalidArgument, "the elements are of type %v, not %v", h.Type, t)
	}
	return n, nil
}
