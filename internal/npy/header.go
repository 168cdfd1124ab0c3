package npy

import (
	"encoding/binary"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/go-halyard/halyard/hal"
)

const magic = "\x93NUMPY"

// maxHeader is the largest size in bytes of a header that this package reads, without the magic string, version and length.
// Headers of arrays of numbers are far smaller; NumPy's own limit is 10,000.
const maxHeader = 64 << 10

// align is the alignment of the data in a file, in bytes.
const align = 64

// Header describes the array of a file.
type Header struct {
	Type      Type
	BigEndian bool // byte order of the elements
	Fortran   bool // the first index varies fastest; otherwise the last does
	Shape     []int
}

// NewHeader returns the header for elements of type T in this machine's byte order.
func NewHeader[T any](fortran bool, shape []int) (Header, error) {
	t, err := typeOf[T]()
	return Header{Type: t, BigEndian: bigEndian, Fortran: fortran, Shape: shape}, err
}

// Len returns the number of elements: 1 if there are no axes, 0 if an extent is 0. If the type is invalid or an extent
// negative, the error is of kind ErrInvalidArgument; if the number of bytes exceeds the range of int, of kind ErrOutOfRange.
func (h Header) Len() (int, error) {
	const op = "npy header"
	if !h.Type.known() {
		return 0, hal.Errorf(op, hal.ErrInvalidArgument, "invalid element type %+v", h.Type)
	}
	n, none := 1, false
	for _, e := range h.Shape {
		switch {
		case e < 0:
			return 0, hal.Errorf(op, hal.ErrInvalidArgument, "shape %v has a negative extent", h.Shape)
		case e == 0:
			none = true
		case n > math.MaxInt/h.Type.Size/e:
			return 0, hal.Errorf(op, hal.ErrOutOfRange, "the number of bytes of shape %v exceeds the range of int", h.Shape)
		default:
			n *= e
		}
	}
	if none {
		return 0, nil
	}
	return n, nil
}

// Append appends the header in version 1.0 of the format, or 3.0 if names of fields are not of ASCII, including the magic string, version and length, padded to a
// multiple of 64 bytes. Its errors are those of [Header.Len]; if the shape does not fit, the error is of kind ErrUnsupported.
//
// The elements follow the header, so a program can write them one part after the other. If it writes them in the
// machine's own byte order, BigEndian must be set on a big-endian machine.
func (h Header) Append(dst []byte) ([]byte, error) {
	if _, err := h.Len(); err != nil {
		return dst, err
	}
	start := len(dst)
	b := append(dst, magic...)
	width := 2
	if strings.ContainsFunc(h.Type.Fields, func(r rune) bool { return r > 127 }) {
		width = 4 // of version 3, which is in UTF-8
	}
	b = append(b, byte(width-1), 0)
	b = append(b, 0, 0, 0, 0)[:len(b)+width]
	b = append(b, "{'descr': "...)
	if h.Type.Kind == 'V' {
		b = append(b, h.Type.Fields...)
	} else {
		b = append(b, "'"+h.Type.order(h.BigEndian)+h.Type.String()+"'"...)
	}
	b = append(b, ", 'fortran_order': "...)
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
	before := len(magic) + 2 + width
	size := len(b) - start - before
	if size > math.MaxUint16 {
		return dst, hal.Errorf("npy header", hal.ErrUnsupported, "%d axes of %v do not fit in a header", len(h.Shape), h.Type)
	}
	binary.LittleEndian.PutUint16(b[start+before-width:], uint16(size))
	return b, nil
}

// ReadHeader reads a header, and nothing of the data that follows. If the header is invalid, the error is of kind
// ErrInvalidArgument, and wraps io.ErrUnexpectedEOF if the file ends early. If this package does not support the version,
// the type or the size of the header, the error is of kind ErrUnsupported. Errors of the reader are wrapped.
func ReadHeader(r io.Reader) (Header, error) {
	const op = "read npy header"
	var first [len(magic) + 6]byte
	at := first[:len(magic)+2]
	if _, err := io.ReadFull(r, at); err != nil {
		return Header{}, unread(op, "the magic string", err)
	}
	if string(at[:len(magic)]) != magic {
		return Header{}, hal.Errorf(op, hal.ErrInvalidArgument, "not an npy file: it begins with %q", at[:len(magic)])
	}
	major, minor := at[len(magic)], at[len(magic)+1]
	width := 4
	switch {
	case major < 1 || major > 3 || minor != 0:
		return Header{}, hal.Errorf(op, hal.ErrUnsupported, "version %d.%d of the format is not supported", major, minor)
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
	if size > maxHeader {
		return Header{}, hal.Errorf(op, hal.ErrUnsupported, "the header of %d bytes exceeds the limit of %d", size, maxHeader)
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
