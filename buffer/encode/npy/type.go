package npy

import (
	"encoding/binary"
	"reflect"
	"strconv"

	"github.com/go-halyard/halyard/hal"
)

// Type is the type of an element, by NumPy's letter, 'i', 'u', 'f', 'c' or 'b', and its size in bytes. 'b' is a boolean, a byte that is 0 or 1.
type Type struct {
	Kind byte
	Size int
}

// String returns the type as NumPy writes it, without a byte order: "f4".
func (t Type) String() string { return string(rune(t.Kind)) + strconv.Itoa(t.Size) }

// known reports whether this package reads and writes the type.
func (t Type) known() bool {
	switch t.Kind {
	case 'b':
		return t.Size == 1
	case 'i', 'u':
		return t.Size == 1 || t.Size == 2 || t.Size == 4 || t.Size == 8
	case 'f':
		return t.Size == 2 || t.Size == 4 || t.Size == 8
	case 'c':
		return t.Size == 8 || t.Size == 16
	}
	return false
}

// unit returns the size of the numbers to which the byte order applies: half of the size for complex numbers.
func (t Type) unit() int {
	if t.Kind == 'c' {
		return t.Size / 2
	}
	return t.Size
}

// half is the path of the package with the floating-point numbers of 16 bits.
const half = "github.com/go-halyard/halyard/kernel/half"

// typeOf returns the type of T. If T is not a number of fixed size, or a type defined as one, the error is of kind ErrUnsupported.
func typeOf[T any]() (Type, error) {
	r := reflect.TypeFor[T]()
	if r.PkgPath() == half {
		if r.Name() == "Float16" {
			return Type{'f', 2}, nil
		}
		return Type{}, hal.Errorf("npy type", hal.ErrUnsupported,
			"NumPy has no type for a %v; write its bits as uint16, or convert to float32", r)
	}
	t := Type{Size: int(r.Size())}
	switch r.Kind() {
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		t.Kind = 'i'
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		t.Kind = 'u'
	case reflect.Float32, reflect.Float64:
		t.Kind = 'f'
	case reflect.Complex64, reflect.Complex128:
		t.Kind = 'c'
	default:
		return Type{}, hal.Errorf("npy type", hal.ErrUnsupported, "%v is not a number of fixed size", r)
	}
	return t, nil
}

// bigEndian says that this machine is big-endian.
var bigEndian = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

// parseType parses a type of a header, such as "<f4" or "|u1".
func parseType(descr string) (t Type, big bool, err error) {
	const op = "read npy header"
	rest := descr
	big = bigEndian
	if rest != "" {
		switch rest[0] {
		case '<', '>':
			big = rest[0] == '>'
			rest = rest[1:]
		case '=', '|':
			rest = rest[1:]
		}
	}
	if len(rest) > 1 && len(rest) <= 3 && rest[1] != '0' {
		if n, err := strconv.ParseUint(rest[1:], 10, 8); err == nil {
			t = Type{rest[0], int(n)}
		}
	}
	if !t.known() {
		return Type{}, false, hal.Errorf(op, hal.ErrUnsupported, "elements of type %q are not supported", descr)
	}
	if t.unit() == 1 {
		big = bigEndian
	}
	return t, big, nil
}

// toNative converts elements from a byte order to this machine's, in place.
func (t Type) toNative(data []byte, big bool) {
	if big == bigEndian {
		return
	}
	switch t.unit() {
	case 2:
		for ; len(data) >= 2; data = data[2:] {
			data[0], data[1] = data[1], data[0]
		}
	case 4:
		for ; len(data) >= 4; data = data[4:] {
			binary.LittleEndian.PutUint32(data, binary.BigEndian.Uint32(data))
		}
	case 8:
		for ; len(data) >= 8; data = data[8:] {
			binary.LittleEndian.PutUint64(data, binary.BigEndian.Uint64(data))
		}
	}
}
