package npy

import (
	"encoding/binary"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-halyard/halyard/hal"
)

// Type is the type of an element, by NumPy's letter, 'i', 'u', 'f', 'c', 'b' or 'V', and its size in bytes. 'b' is a boolean, a byte
// that is 0 or 1, and 'V' a record, which is a structure in Go.
type Type struct {
	Kind   byte
	Size   int
	Fields string // of a record, as NumPy describes them: "[('X', '<f4'), ('Y', '<f4')]"
}

// String returns the type as NumPy writes it, without a byte order: "f4". For a record it returns the fields.
func (t Type) String() string {
	if t.Kind == 'V' {
		return t.Fields
	}
	return string(rune(t.Kind)) + strconv.Itoa(t.Size)
}

// holds reports whether elements of a file that have the type o are read as this type: booleans are read as uint8, and the case of
// the names of fields does not matter.
func (t Type) holds(o Type) bool {
	if (o == Type{Kind: 'b', Size: 1}) {
		o.Kind = 'u'
	}
	return t.Kind == o.Kind && t.Size == o.Size && strings.EqualFold(t.Fields, strings.ReplaceAll(o.Fields, "'|b1'", "'|u1'"))
}

// order returns the character for a byte order in a header.
func (t Type) order(big bool) string {
	switch {
	case t.unit() == 1:
		return "|"
	case big:
		return ">"
	}
	return "<"
}

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
	case 'V':
		return t.Size > 0 && t.Fields != ""
	}
	return false
}

// unit returns the size of the numbers to which the byte order applies: half of the size for complex numbers. Records are in this
// machine's order.
func (t Type) unit() int {
	if t.Kind == 'V' {
		return 1
	}
	if t.Kind == 'c' {
		return t.Size / 2
	}
	return t.Size
}

// half is the path of the package with the floating-point numbers of 16 bits.
const half = "github.com/go-halyard/halyard/kernel/half"

// typeOf returns the type of T: see typeFor.
func typeOf[T any]() (Type, error) { return typeFor(reflect.TypeFor[T]()) }

// typeFor returns the type of a Go type. If that is neither a number of fixed size nor a structure of such numbers and arrays of them, the
// error is of kind ErrUnsupported.
func typeFor(r reflect.Type) (Type, error) {
	if r.PkgPath() == half {
		if r.Name() == "Float16" {
			return Type{Kind: 'f', Size: 2}, nil
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
	case reflect.Bool:
		return Type{}, hal.Errorf("npy type", hal.ErrUnsupported, "a file may have bytes that are no bool in Go; use uint8")
	case reflect.Struct:
		return recordOf(r)
	case reflect.Array:
		return Type{}, hal.Errorf("npy type", hal.ErrUnsupported,
			"a %v is no element of an array of NumPy; write its numbers, with an axis more", r)
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
			t = Type{Kind: rest[0], Size: int(n)}
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
