package npy

import (
	"bytes"
	"io"
	"slices"
	"unsafe"

	"github.com/go-halyard/halyard/hal"
)

// chunk is how many bytes are taken on trust: a header may promise more data than there is.
const chunk = 1 << 20

// raw is the memory of numbers.
func raw[T any](data []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), uintptr(len(data))*unsafe.Sizeof(zero))
}

// Write writes a file with the elements of data, which lie in the order that fortran tells, and
// returns the number of bytes written. data that the shape does not fit is of kind ErrInvalidArgument, and then
// nothing is written. Errors of the writer are returned as they are.
func Write[T any](w io.Writer, fortran bool, shape []int, data []T) (int64, error) {
	h, err := header(fortran, shape, data)
	if err != nil {
		return 0, err
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

// Append appends what [Write] writes.
func Append[T any](dst []byte, fortran bool, shape []int, data []T) ([]byte, error) {
	h, err := header(fortran, shape, data)
	if err != nil {
		return dst, err
	}
	b, err := h.Append(slices.Grow(dst, 2*align+len(raw(data))))
	if err != nil {
		return dst, err
	}
	return append(b, raw(data)...), nil
}

func header[T any](fortran bool, shape []int, data []T) (Header, error) {
	h, err := NewHeader[T](fortran, shape)
	if err != nil {
		return Header{}, err
	}
	n, err := h.Len()
	if err != nil {
		return Header{}, err
	}
	if n != len(data) {
		return Header{}, hal.Errorf("write npy", hal.ErrInvalidArgument, "%d elements for the %d of shape %v", len(data), n, shape)
	}
	return h, nil
}

// ReadData reads the elements that follow a header, in this machine's byte order, and nothing behind them.
// Elements of another type than T are of kind ErrInvalidArgument; so is an early end, which wraps
// io.ErrUnexpectedEOF and costs no more memory than a small multiple of what there was. Errors of
// the reader are wrapped.
func ReadData[T any](r io.Reader, h Header) ([]T, error) {
	const op = "read npy"
	n, err := fits[T](op, h)
	if err != nil {
		return nil, err
	}
	var data []T
	for len(data) < n {
		have := len(data)
		more := min(n-have, max(have, chunk/h.Type.Size))
		data = slices.Grow(data, more)[:have+more]
		if _, err := io.ReadFull(r, raw(data[have:])); err != nil {
			return nil, unread(op, "the elements", err)
		}
	}
	h.Type.toNative(raw(data), h.BigEndian)
	return data, nil
}

// Decode reads a file that is in memory. Bytes behind the elements are of kind ErrInvalidArgument, beside the
// errors of [ReadHeader] and [ReadData].
func Decode[T any](file []byte) (Header, []T, error) {
	const op = "read npy"
	r := bytes.NewReader(file)
	h, err := ReadHeader(r)
	if err != nil {
		return Header{}, nil, err
	}
	n, err := fits[T](op, h)
	if err != nil {
		return Header{}, nil, err
	}
	if have := r.Len(); have < n*h.Type.Size {
		return Header{}, nil, unread(op, "the elements", io.ErrUnexpectedEOF)
	} else if have > n*h.Type.Size {
		return Header{}, nil, hal.Errorf(op, hal.ErrInvalidArgument, "%d bytes of elements, and %d more", n*h.Type.Size, have-n*h.Type.Size)
	}
	data := make([]T, n)
	copy(raw(data), file[len(file)-r.Len():])
	h.Type.toNative(raw(data), h.BigEndian)
	return h, data, nil
}

func fits[T any](op string, h Header) (int, error) {
	n, err := h.Len()
	if err != nil {
		return 0, err
	}
	t, err := TypeOf[T]()
	if err != nil {
		return 0, err
	}
	if t != h.Type {
		return 0, hal.Errorf(op, hal.ErrInvalidArgument, "elements of type %v, not %v", h.Type, t)
	}
	return n, nil
}
