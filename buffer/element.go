package buffer

import (
	"reflect"
	"unsafe"

	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/internal/layout"
)

// Element is the constraint on the elements of a buffer: numbers of fixed size, real and complex, bool, and arrays and structures of
// them, nested as one likes. Such a type has the same layout in Go and in C on every device. [New] and the other functions that make a
// buffer refuse other types with an error of kind ErrInvalidArgument that names the part: strings, pointers, slices and so on, int, uint
// and uintptr, whose size depends on the platform, and types without bytes. On systems of 32 bits they also refuse a structure in which
// devices put a field of 8 bytes at another offset.
//
// Bytes of padding between fields may have any values.
type Element any

// Number is the constraint on elements that are numbers: Go's numbers of fixed size, real and complex. It is for functions that compute with
// elements or name their type.
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
