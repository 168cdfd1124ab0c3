package array

import (
	"context"
	"io"
	"slices"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/npy"
)

// WriteNPY writes the array to w as an .npy file, which NumPy reads, and returns the number of bytes written. half.Float16 is NumPy's
// float16, and a structure a record. Other elements than numbers and structures of numbers are ErrUnsupported. A
// contiguous array is written from the host's replica in its own order; until that is done, other accesses cannot write
// the elements. Any other array is copied first and written row-major. Only the elements are moved
// to the host. Errors of w are returned unchanged.
func (a *Array[T]) WriteNPY(ctx context.Context, w io.Writer) (written int64, err error) {
	const op = "WriteNPY"
	if err := a.check(op); err != nil {
		return 0, err
	}
	if w == nil {
		return 0, hal.Errorf(op, hal.ErrInvalidArgument, "nil writer")
	}
	err = a.inOrder(ctx, op, func(fortran bool, data []T) (err error) {
		written, err = npy.Write(w, fortran, a.at.shape, data)
		return err
	})
	return written, err
}

// inOrder runs fn on the elements without gaps: in column-major order if the array has that, else in row-major order.
func (a *Array[T]) inOrder(ctx context.Context, op string, fn func(fortran bool, data []T) error) error {
	rows, turned := a.at.contiguous(), a.at.reversed()
	if !rows && !turned.contiguous() {
		data, err := a.values(ctx, op)
		if err != nil {
			return err
		}
		return fn(false, data)
	}
	return a.inPlace(ctx, op, coherence.Read, func(g Accessor[T]) error { return fn(!rows, g.run(g.at.off, g.at.length())) })
}

// ReadNPY reads an .npy file with elements of type T from r, and nothing after it, and returns a new
// array in the file's order. A file in the other byte order is converted.
//
// If the file is malformed or its elements have another type, the error is of kind ErrInvalidArgument. If the file ends
// early, the error wraps io.ErrUnexpectedEOF, and at most a small multiple of its actual size has been allocated. If
// its elements are not Go numbers, half.Float16 or structures of these, the error is of kind ErrUnsupported. Errors of r are wrapped.
func ReadNPY[T buffer.Element](r io.Reader) (*Array[T], error) {
	const op = "ReadNPY"
	if r == nil {
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "nil reader")
	}
	h, err := npy.ReadHeader(r)
	if err != nil {
		return nil, err
	}
	if err := holds(op, h); err != nil {
		return nil, err
	}
	data, err := npy.ReadData[T](r, h)
	if err != nil {
		return nil, err
	}
	if !h.Fortran {
		return From(data, h.Shape...)
	}
	slices.Reverse(h.Shape)
	a, err := From(data, h.Shape...)
	if err == nil {
		a.at = a.at.reversed()
	}
	return a, err
}

// holds returns an error if the file's shape is not a valid shape of an array.
func holds(op string, h npy.Header) error {
	if _, err := h.Len(); err != nil {
		return err
	}
	if len(h.Shape) > MaxRank {
		return hal.Errorf(op, hal.ErrUnsupported, "%d axes are more than the %d that are supported", len(h.Shape), MaxRank)
	}
	return nil
}
