//go:build cgo

package main

import "C"

import (
	"context"
	"errors"
	"sync"
	"unsafe"

	_ "github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/array"
	"github.com/go-halyard/halyard/buffer/dlpack"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

func main() {}

var ctx = context.Background()

// codes are what functions return for an error, by its kind. 0 means no error, and 99 an error of another kind.
var codes = []struct {
	kind error
	code C.int
}{
	{hal.ErrBusy, 1}, {hal.ErrClosed, 2}, {buffer.ErrFrozen, 3}, {hal.ErrInvalidArgument, 4}, {hal.ErrUnsupported, 5},
	{hal.ErrOutOfRange, 6}, {hal.ErrMisaligned, 7},
}

var state struct {
	sync.Mutex
	objects []object
	text    string // of the last error
	done    int    // exports that have ended
}

func code(err error) C.int {
	if err == nil {
		return 0
	}
	state.Lock()
	state.text = err.Error()
	state.Unlock()
	for _, c := range codes {
		if errors.Is(err, c.kind) {
			return c.code
		}
	}
	return 99
}

// object is an array and its buffer, of any type.
type object interface {
	view(how string) (object, error)
	export(opts ...dlpack.ExportOption) (dlpack.Managed, error)
	shape() []int
	values(dst unsafe.Pointer) error
	add(n int) error
	close() error
}

type tensor[T buffer.Number] struct {
	b *buffer.Buffer[T]
	a *array.Array[T]
}

func (t tensor[T]) view(how string) (object, error) {
	var a *array.Array[T]
	var err error
	switch how {
	case "transposed":
		a, err = t.a.Transpose()
	case "reversed":
		a, err = t.a.Slice(array.All().By(-1), array.All().By(-2))
	default:
		a, err = t.a.Slice(array.Between(1, 3), array.Between(0, 4).By(3))
	}
	return tensor[T]{t.b, a}, err
}

func (t tensor[T]) export(opts ...dlpack.ExportOption) (dlpack.Managed, error) {
	return dlpack.ExportArray(ctx, t.a, opts...)
}

func (t tensor[T]) shape() []int { return t.a.Shape() }

func (t tensor[T]) values(dst unsafe.Pointer) error {
	v, err := t.a.Values(ctx)
	if err == nil {
		copy(unsafe.Slice((*T)(dst), len(v)), v)
	}
	return err
}

func (t tensor[T]) add(n int) error {
	return t.a.Update(ctx, func(g array.Accessor[T]) error {
		for _, p := range g.All() {
			*p += number[T](n)
		}
		return nil
	})
}

func (t tensor[T]) close() error { return t.b.Close() }

// number is n as an element.
func number[T buffer.Number](n int) T {
	var v T
	switch p := any(&v).(type) {
	case *int8:
		*p = int8(n)
	case *int16:
		*p = int16(n)
	case *int32:
		*p = int32(n)
	case *int64:
		*p = int64(n)
	case *uint8:
		*p = uint8(n)
	case *uint16:
		*p = uint16(n)
	case *uint32:
		*p = uint32(n)
	case *uint64:
		*p = uint64(n)
	case *float32:
		*p = float32(n)
	case *float64:
		*p = float64(n)
	case *complex64:
		*p = complex(float32(n), 0)
	case *complex128:
		*p = complex(float64(n), 0)
	}
	return v
}

// create makes an array of 0, 1, 2 and so on.
func create[T buffer.Number](shape []int) (object, error) {
	n := 1
	for _, e := range shape {
		n *= e
	}
	data := make([]T, n)
	for i := range data {
		data[i] = number[T](i)
	}
	b, err := buffer.From(data)
	if err != nil {
		return nil, err
	}
	a, err := array.FromBuffer(b, shape...)
	return tensor[T]{b, a}, err
}

func take[T buffer.Number](m dlpack.Managed, opts ...dlpack.ImportOption) (object, error) {
	b, a, err := dlpack.Import[T](ctx, m, opts...)
	return tensor[T]{b, a}, err
}

type maker struct {
	create func(shape []int) (object, error)
	take   func(m dlpack.Managed, opts ...dlpack.ImportOption) (object, error)
}

func of[T buffer.Number]() maker { return maker{create[T], take[T]} }

var types = map[string]maker{
	"int8": of[int8](), "int16": of[int16](), "int32": of[int32](), "int64": of[int64](),
	"uint8": of[uint8](), "uint16": of[uint16](), "uint32": of[uint32](), "uint64": of[uint64](),
	"float32": of[float32](), "float64": of[float64](), "complex64": of[complex64](), "complex128": of[complex128](),
}

// keep stores an object and returns its number.
func keep(o object) C.int {
	state.Lock()
	defer state.Unlock()
	state.objects = append(state.objects, o)
	return C.int(len(state.objects))
}

func get(id C.int) object {
	state.Lock()
	defer state.Unlock()
	return state.objects[id-1]
}

//export hy_error
func hy_error(dst *C.char, size C.int) {
	state.Lock()
	defer state.Unlock()
	out := unsafe.Slice((*byte)(unsafe.Pointer(dst)), size)
	out[copy(out[:size-1], state.text)] = 0
}

//export hy_new
func hy_new(dtype *C.char, rank C.int, shape *C.longlong, id *C.int) C.int {
	extents := make([]int, rank)
	for i := range extents {
		extents[i] = int(unsafe.Slice(shape, rank)[i])
	}
	o, err := types[C.GoString(dtype)].create(extents)
	if err == nil {
		*id = keep(o)
	}
	return code(err)
}

//export hy_view
func hy_view(id C.int, how *C.char, view *C.int) C.int {
	o, err := get(id).view(C.GoString(how))
	if err == nil {
		*view = keep(o)
	}
	return code(err)
}

//export hy_export
func hy_export(id C.int, write, legacy, copied bool, address *C.ulonglong) C.int {
	mode := coherence.Read
	if write {
		mode = coherence.ReadWrite
	}
	m, err := get(id).export(dlpack.WithMode(mode), dlpack.WithLegacy(legacy), dlpack.WithCopy(copied), dlpack.WithDone(func(error) {
		state.Lock()
		state.done++
		state.Unlock()
	}))
	*address = C.ulonglong(m.Address)
	return code(err)
}

//export hy_import
func hy_import(address C.ulonglong, legacy bool, dtype *C.char, copied bool, id *C.int) C.int {
	o, err := types[C.GoString(dtype)].take(dlpack.Managed{Address: uintptr(address), Legacy: legacy}, dlpack.WithCopy(copied))
	if err == nil {
		*id = keep(o)
	}
	return code(err)
}

//export hy_shape
func hy_shape(id C.int, shape *C.longlong) C.int {
	s := get(id).shape()
	for i, e := range s {
		unsafe.Slice(shape, len(s))[i] = C.longlong(e)
	}
	return C.int(len(s))
}

//export hy_values
func hy_values(id C.int, dst unsafe.Pointer) C.int { return code(get(id).values(dst)) }

//export hy_add
func hy_add(id, n C.int) C.int { return code(get(id).add(int(n))) }

//export hy_close
func hy_close(id C.int) C.int { return code(get(id).close()) }

//export hy_delete
func hy_delete(address C.ulonglong, legacy bool) C.int {
	return code(dlpack.Managed{Address: uintptr(address), Legacy: legacy}.Delete())
}

//export hy_outstanding
func hy_outstanding() C.int { return C.int(dlpack.Outstanding()) }

//export hy_done
func hy_done() C.int {
	state.Lock()
	defer state.Unlock()
	return C.int(state.done)
}
