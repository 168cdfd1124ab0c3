package layout

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"unsafe"
)

// Append appends an encoding of elements of a type whose Layout is not bad: a text that describes the type and this machine's byte order,
// after its length, and the bytes of the elements.
func Append[T any](dst []byte, elements []T) []byte {
	text, _ := describe(reflect.TypeFor[T](), 0)
	dst = append(binary.AppendUvarint(dst, uint64(len(order+text))), order+text...)
	return append(dst, bytesOf(elements)...)
}

// Parse returns the elements of an encoding. It allocates in proportion to the length of data.
func Parse[T any](data []byte) ([]T, error) {
	text, bools := describe(reflect.TypeFor[T](), 0)
	n, k := binary.Uvarint(data)
	if k <= 0 || n > uint64(len(data)-k) || string(data[k:k+int(n)]) != order+text {
		return nil, fmt.Errorf("the elements are not of type %s in this machine's byte order", text)
	}
	data = data[k+int(n):]
	size := int(reflect.TypeFor[T]().Size())
	if len(data)%size != 0 {
		return nil, fmt.Errorf("%d bytes are no whole number of elements of %d bytes", len(data), size)
	}
	for at := 0; len(bools) > 0 && at < len(data); at += size {
		for _, b := range bools {
			if data[at+b] > 1 {
				return nil, errors.New("a bool is neither 0 nor 1")
			}
		}
	}
	elements := make([]T, len(data)/size)
	copy(bytesOf(elements), data)
	return elements, nil
}

// order says which byte order this machine has: 1 or 256.
var order = fmt.Sprint(binary.NativeEndian.Uint16([]byte{0, 1}), " ")

func bytesOf[T any](s []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(reflect.TypeFor[T]().Size()))
}

// describe returns a text that is the same for all types of one layout, and where the type has bools, in bytes from its beginning plus at.
func describe(t reflect.Type, at int) (text string, bools []int) {
	switch t.Kind() {
	case reflect.Bool:
		bools = []int{at}
	case reflect.Array:
		for i := range t.Len() {
			part, more := describe(t.Elem(), at+i*int(t.Elem().Size()))
			text, bools = fmt.Sprintf("[%d]%s", t.Len(), part), append(bools, more...)
		}
		return text, bools
	case reflect.Struct:
		for i := range t.NumField() {
			part, more := describe(t.Field(i).Type, at+int(t.Field(i).Offset))
			text, bools = text+part+",", append(bools, more...)
		}
		return "{" + text + "}", bools
	}
	return t.Kind().String(), bools
}
