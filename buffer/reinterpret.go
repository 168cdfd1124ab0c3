package buffer

import (
	"unsafe"

	"github.com/go-halyard/halyard/hal"
)

// Reinterpret returns a view of the buffer's bytes as elements of another type, in the byte order of the machine. Both views have the
// same bytes: elements written through one are read through the other. Like a [Buffer.Slice], the result needs no memory of its own and
// is closed with the whole buffer. A [ConflictError] counts in elements of the type with which the buffer was made.
//
// The error is of kind ErrInvalidArgument if the size is not a multiple of the new element's, and ErrMisaligned if the beginning of the
// range, or adopted memory, is not aligned for the new elements.
func Reinterpret[U, T Element](b *Buffer[T]) (*Buffer[U], error) {
	const op = "Reinterpret"
	if err := b.check(op); err != nil {
		return nil, err
	}
	var zero U
	elem, align := uint64(unsafe.Sizeof(zero)), uint64(unsafe.Alignof(zero))
	switch {
	case b.Size()%elem != 0:
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "%d bytes are not a multiple of the element size, %d bytes", b.Size(), elem)
	case b.lo%align != 0:
		return nil, hal.Errorf(op, hal.ErrMisaligned, "elements must be aligned to %d bytes, and the range starts at byte %d", align, b.lo)
	case b.s.alignment%align != 0:
		return nil, hal.Errorf(op, hal.ErrMisaligned, "elements must be aligned to %d bytes, and the memory is aligned to %d", align, b.s.alignment)
	}
	return &Buffer[U]{s: b.s, own: b.own, lo: b.lo, hi: b.hi, slice: true}, nil
}

// elementSize returns the size of T in bytes.
func (b *Buffer[T]) elementSize() uint64 {
	var zero T
	return uint64(unsafe.Sizeof(zero))
}
