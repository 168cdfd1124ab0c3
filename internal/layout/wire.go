package layout

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"unsafe"
)

// Encode returns an encoding of elements of a type whose Layout is not bad: a text that describes the type and this machine's byte order,
// the extents of a shape, each after its length, and the bytes of the elements.
func Encode[T any](shape []int, elements []T) []byte {
	text, _ := describe(reflect.TypeFor[T](), 0)
	data := binary.AppendUvarint(nil, uint64(len(order+text)))
	data = binary.AppendUvarint(append(data, order+text...), uint64(len(shape)))
	for _, e := range shape {
		data = binary.AppendUvarint(data, uint64(e))
	}
	return append(data, bytesOf(elements)...)
}

// Decode returns the shape and the elements of an encoding, which need not match. It allocates in proportion to the length of data.
func Decode[T any](data []byte) (shape []int, elements []T, err error) {
	t := reflect.TypeFor[T]()
	if bad := Of(t).Bad; bad != nil {
		return nil, nil, fmt.Errorf("%s %s", bad.Path, bad.Why)
	}
	text, bools := describe(t, 0)
	number := func() uint64 {
		n, k := binary.Uvarint(data)
		if k <= 0 {
			err, k = errors.New("the data ends within its header"), len(data)
		}
		data = data[k:]
		return n
	}
	if n := number(); n > uint64(len(data)) || string(data[:n]) != order+text {
		return nil, nil, fmt.Errorf("the elements are not of type %s in this machine's byte order", text)
	}
	data = data[len(order+text):]
	for rank := number(); rank > 0 && err == nil; rank-- {
		shape = append(shape, int(number()))
	}
	if err != nil {
		return nil, nil, err
	}
	size := int(t.Size())
	if len(data)%size != 0 {
		return nil, nil, fmt.Errorf("%d bytes are no whole number of elements of %d bytes", len(data), size)
	}
	for at := 0; len(bools) > 0 && at < len(data); at += size {
		for _, b := range bools {
			if data[at+b] > 1 {
				return nil, nil, errors.New("a bool is neither 0 nor 1")
			}
		}
	}
	elements = make([]T, len(data)/size)
	copy(bytesOf(elements), data)
	return shape, elements, nil
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
