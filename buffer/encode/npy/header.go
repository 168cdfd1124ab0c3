package npy

import (
	"encoding/binary"
	"io"
	"math"
	"strconv"

	"github.com/go-halyard/halyard/hal"
)

const magic = "\x93NUMPY"

// MaxHeader is the most bytes of a header that are read, without what precedes it. Arrays of numbers need
// far less; NumPy's own limit is 10,000.
const MaxHeader = 64 << 10

// align is what the data's position in a file is a multiple of.
const align = 64

// Header describes the array of a file.
type Header struct {
	Type      Type
	BigEndian bool // byte order of the elements
	Fortran   bool // the first index varies fastest, else the last
	Shape     []int
}

// NewHeader is the header of elements of type T in this machine's byte order.
func NewHeader[T any](fortran bool, shape []int) (Header, error) {
	t, err := TypeOf[T]()
	return Header{Type: t, BigEndian: bigEndian, Fortran: fortran, Shape: shape}, err
}

// Len is the number of elements: 1 if there are no axes, 0 if an axis has no index. A header that is not
// one of an array is of kind ErrInvalidArgument, one of more bytes than can be counted of kind ErrOutOfRange.
func (h Header) Len() (int, error) {
	const op = "npy header"
	if !h.Type.known() {
		return 0, hal.Errorf(op, hal.ErrInvalidArgument, "%+v is no type of element", h.Type)
	}
	n, none := 1, false
	for _, e := range h.Shape {
		switch {
		case e < 0:
			return 0, hal.Errorf(op, hal.ErrInvalidArgument, "shape %v", h.Shape)
		case e == 0:
			none = true
		case n > math.MaxInt/h.Type.Size/e:
			return 0, hal.Errorf(op, hal.ErrOutOfRange, "shape %v has more bytes than can be counted", h.Shape)
		default:
			n *= e
		}
	}
	if none {
		return 0, nil
	}
	return n, nil
}

// Append appends the header as version 1.0 of the format has it, with what precedes it, in a multiple of
// 64 bytes. Its errors are those of [Header.Len], and ErrUnsupported for a shape that does not fit.
func (h Header) Append(dst []byte) ([]byte, error) {
	if _, err := h.Len(); err != nil {
		return dst, err
	}
	start := len(dst)
	b := append(dst, magic...)
	b = append(b, 1, 0, 0, 0)
	b = append(b, "{'descr': '"...)
	switch {
	case h.Type.unit() == 1:
		b = append(b, '|')
	case h.BigEndian:
		b = append(b, '>')
	default:
		b = append(b, '<')
	}
	b = append(b, h.Type.String()...)
	b = append(b, "', 'fortran_order': "...)
	if h.Fortran {
		b = append(b, "True"...)
	} else {
		b = append(b, "False"...)
	}
	b = append(b, ", 'shape': ("...)
	for i, e := range h.Shape {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(b, int64(e), 10)
		if i < len(h.Shape)-1 || i == 0 {
			b = append(b, ',')
		}
	}
	b = append(b, "), }"...)
	for (len(b)-start+1)%align != 0 {
		b = append(b, ' ')
	}
	b = append(b, '\n')
	const before = len(magic) + 4
	size := len(b) - start - before
	if size > math.MaxUint16 {
		return dst, hal.Errorf("npy header", hal.ErrUnsupported, "%d axes do not fit in a header", len(h.Shape))
	}
	binary.LittleEndian.PutUint16(b[start+before-2:], uint16(size))
	return b, nil
}

// ReadHeader reads a header, and nothing of the data that follows. What is not a header is of kind ErrInvalidArgument, which
// wraps io.ErrUnexpectedEOF if there is too little of it; what cannot be represented here is of kind
// ErrUnsupported. Errors of the reader are wrapped.
func ReadHeader(r io.Reader) (Header, error) {
	const op = "read npy header"
	var first [len(magic) + 6]byte
	at := first[:len(magic)+2]
	if _, err := io.ReadFull(r, at); err != nil {
		return Header{}, unread(op, "the magic string", err)
	}
	if string(at[:len(magic)]) != magic {
		return Header{}, hal.Errorf(op, hal.ErrInvalidArgument, "%q is not how an npy file begins", at[:len(magic)])
	}
	major, minor := at[len(magic)], at[len(magic)+1]
	width := 4
	switch {
	case major < 1 || major > 3 || minor != 0:
		return Header{}, hal.Errorf(op, hal.ErrUnsupported, "version %d.%d of the format", major, minor)
	case major == 1:
		width = 2
	}
	at = first[len(magic)+2:][:width]
	if _, err := io.ReadFull(r, at); err != nil {
		return Header{}, unread(op, "the header's length", err)
	}
	var size uint32
	if width == 2 {
		size = uint32(binary.LittleEndian.Uint16(at))
	} else {
		size = binary.LittleEndian.Uint32(at)
	}
	if size > MaxHeader {
		return Header{}, hal.Errorf(op, hal.ErrUnsupported, "a header of %d bytes; at most %d are read", size, MaxHeader)
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(r, text); err != nil {
		return Header{}, unread(op, "the header", err)
	}
	h, err := parse(string(text), major < 3)
	if err != nil {
		return Header{}, err
	}
	if _, err := h.Len(); err != nil {
		return Header{}, err
	}
	return h, nil
}
