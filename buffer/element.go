package buffer

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"unsafe"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layout"
)

// Element is the constraint on the elements of a buffer: numbers of fixed size, real and complex, bool, and arrays and structures of
// them, nested as one likes. Such a type has the same layout in Go and in C on every device. [New] and the other functions that make a
// buffer refuse other types with an error of kind ErrInvalidArgument that names the part: strings, pointers, slices and so on, int, uint
// and uintptr, whose size depends on the platform, and types without bytes. So is, on systems of 32 bits, a structure in which devices
// put a field of 8 bytes elsewhere.
//
// Bytes of padding between fields may have any values.
type Element any

// Number is the constraint on elements that are numbers, for what needs to compute with them or to name their type: Go's numbers of fixed
// size, real and complex.
type Number interface {
	~int8 | ~int16 | ~int32 | ~int64 |
		~uint8 | ~uint16 | ~uint32 | ~uint64 |
		~float32 | ~float64 | ~complex64 | ~complex128
}

// elementOf returns the size of an element, and whether it contains a bool. The error says why T is no type of elements.
func elementOf[T Element](op string) (size uint64, bools bool, err error) {
	var zero T
	l := layout.Of(reflect.TypeFor[T]())
	if l.Bad != nil {
		return 0, false, hal.Errorf(op, hal.ErrInvalidArgument,
			"%s %s; an element has numbers, bool, and arrays and structures of them only", l.Bad.Path, l.Bad.Why)
	}
	return uint64(unsafe.Sizeof(zero)), l.Bools, nil
}

// Reinterpret returns a view of the buffer's bytes as elements of another type, in the byte order of the machine. Both views have the
// same bytes: elements written through one are read through the other. Like a [Buffer.Slice], the result needs no memory of its own and
// is closed with the whole buffer. A [ConflictError] counts in elements of the type with which the buffer was made.
//
// The error is of kind ErrInvalidArgument if the size is not a multiple of the new element's, or an element of either type contains a
// bool, of which a byte of the other could make something that is neither true nor false, and ErrMisaligned if the beginning of the
// range, or adopted memory, is not aligned for the new elements.
func Reinterpret[U, T Element](b *Buffer[T]) (*Buffer[U], error) {
	const op = "Reinterpret"
	if err := b.check(op); err != nil {
		return nil, err
	}
	var zero U
	var was T
	elem, bools, err := elementOf[U](op)
	align := uint64(unsafe.Alignof(zero))
	switch {
	case err != nil:
		return nil, err
	case (bools || b.s.bools) && reflect.TypeFor[T]() != reflect.TypeFor[U]():
		return nil, hal.Errorf(op, hal.ErrInvalidArgument,
			"%T and %T share bytes of a bool, which must be true or false; copy the elements", was, zero)
	case b.Size()%elem != 0:
		return nil, hal.Errorf(op, hal.ErrInvalidArgument, "%d bytes are not a multiple of the element size, %d bytes", b.Size(), elem)
	case b.lo%align != 0:
		return nil, hal.Errorf(op, hal.ErrMisaligned, "elements must be aligned to %d bytes, and the range starts at byte %d", align, b.lo)
	case b.s.alignment%align != 0:
		return nil, hal.Errorf(op, hal.ErrMisaligned, "elements must be aligned to %d bytes, and the memory is aligned to %d",
			align, b.s.alignment)
	}
	return &Buffer[U]{s: b.s, own: b.own, lo: b.lo, hi: b.hi, slice: true}, nil
}

// fillRegion enqueues a fill. enqueued reports whether some of it is on the stream.
func fillRegion[T Element](stream *hal.Stream, r hal.Region, v T) (enqueued bool, err error) {
	element := unsafe.Slice((*byte)(unsafe.Pointer(&v)), unsafe.Sizeof(v))
	if p := patternOf(element, r.Off); p.Width != 0 {
		err = stream.Fill(r, p)
		return err == nil, err
	}
	// No device fills with longer patterns: write one element, then copy the written part to double it until the region is full.
	have := min(uint64(len(element)), r.Len) // there may be no element
	first := hal.Region{Mem: r.Mem, Off: r.Off, Len: have}
	if err := stream.CopyIn(first, bytes.Clone(element[:have])); err != nil {
		return false, err
	}
	for have < r.Len {
		n := min(have, r.Len-have)
		if err := stream.Copy(hal.Region{Mem: r.Mem, Off: r.Off + have, Len: n}, hal.Region{Mem: r.Mem, Off: r.Off, Len: n}); err != nil {
			return true, err
		}
		have += n
	}
	return true, nil
}

// patternOf returns the pattern that an element repeats, such as one byte for zeros, or the zero Pattern if it repeats none. For an
// element of 1, 2, 4 or 8 bytes the pattern is the element: devices fill faster with long patterns. The offset of the fill must be a
// multiple of the pattern's width.
func patternOf(element []byte, offset uint64) hal.Pattern {
	n := len(element)
	for width := 8; width > 0; width /= 2 {
		if n%width != 0 || offset%uint64(width) != 0 || !bytes.Equal(element[width:], element[:n-width]) {
			continue
		}
		var b [8]byte
		copy(b[:], element[:width])
		bits := binary.NativeEndian.Uint64(b[:])
		if binary.NativeEndian.Uint16([]byte{0, 1}) == 1 { // the high bytes come first
			bits >>= 64 - 8*width
		}
		return hal.Pattern{Bits: bits, Width: uint8(width)}
	}
	return hal.Pattern{}
}
