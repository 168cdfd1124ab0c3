package layout

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unsafe"
)

// The encoding of elements for other processes: the length of a text, that text, which describes the type, and for each element its
// numbers, without padding and in little-endian order.

var bigEndian = binary.NativeEndian.Uint16([]byte{0, 1}) == 1

// run is bytes of an element that are numbers of one size, or bools.
type run struct {
	lo, hi, unit uintptr
	bools        bool
}

// describe returns the runs of a type whose Layout is not bad, and the text that describes it. Blank fields are padding.
func describe(t reflect.Type, at uintptr, runs []run) ([]run, string) {
	switch t.Kind() {
	case reflect.Array:
		text := ""
		for i := range t.Len() {
			runs, text = describe(t.Elem(), at+uintptr(i)*t.Elem().Size(), runs)
		}
		return runs, fmt.Sprintf("[%d]%s", t.Len(), text)
	case reflect.Struct:
		var texts []string
		for i := range t.NumField() {
			if f := t.Field(i); f.Name != "_" {
				var text string
				runs, text = describe(f.Type, at+f.Offset, runs)
				texts = append(texts, text)
			}
		}
		return runs, "{" + strings.Join(texts, ",") + "}"
	}
	r := run{at, at + t.Size(), t.Size(), t.Kind() == reflect.Bool}
	if k := t.Kind(); k == reflect.Complex64 || k == reflect.Complex128 {
		r.unit /= 2
	}
	if n := len(runs); n > 0 && runs[n-1].hi == at && runs[n-1].unit == r.unit && runs[n-1].bools == r.bools {
		runs[n-1].hi = r.hi
		return runs, t.Kind().String()
	}
	return append(runs, r), t.Kind().String()
}

// Append appends the encoding of elements of a type whose Layout is not bad.
func Append[T any](dst []byte, elements []T) []byte {
	runs, text := describe(reflect.TypeFor[T](), 0, nil)
	dst = append(binary.AppendUvarint(dst, uint64(len(text))), text...)
	for i := range elements {
		for _, r := range runs {
			n := len(dst)
			dst = append(dst, r.of(unsafe.Pointer(&elements[i]))...)
			r.swap(dst[n:])
		}
	}
	return dst
}

// Parse returns the elements of an encoding. It allocates in proportion to what data has.
func Parse[T any](data []byte) ([]T, error) {
	runs, text := describe(reflect.TypeFor[T](), 0, nil)
	n, k := binary.Uvarint(data)
	switch {
	case k <= 0 || n > uint64(len(data)-k):
		return nil, errors.New("the data ends within the type of the elements")
	case string(data[k:k+int(n)]) != text:
		return nil, fmt.Errorf("the elements are of type %.100q, not %s", data[k:k+int(n)], text)
	}
	data = data[k+int(n):]
	size := 0
	for _, r := range runs {
		size += int(r.hi - r.lo)
	}
	if size == 0 || len(data)%size != 0 {
		return nil, fmt.Errorf("%d bytes are no whole number of elements of %d bytes", len(data), size)
	}
	elements := make([]T, len(data)/size)
	for i := range elements {
		for _, r := range runs {
			to := r.of(unsafe.Pointer(&elements[i]))
			if r.bools && slices.ContainsFunc(data[:len(to)], func(b byte) bool { return b > 1 }) {
				return nil, errors.New("a bool is neither 0 nor 1")
			}
			data = data[copy(to, data):]
			r.swap(to)
		}
	}
	return elements, nil
}

// of returns the bytes of the run in an element.
func (r run) of(element unsafe.Pointer) []byte {
	return unsafe.Slice((*byte)(unsafe.Add(element, r.lo)), r.hi-r.lo)
}

// swap converts the numbers of a run between this machine's order and the encoding's.
func (r run) swap(b []byte) {
	for ; bigEndian && len(b) > 0; b = b[r.unit:] {
		slices.Reverse(b[:r.unit])
	}
}
