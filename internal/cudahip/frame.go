package cudahip

import (
	"sync"
	"unsafe"
)

// frame is one call: the context to make current first, the function, its arguments and room for its
// results. The assembly relies on the offsets of the first four fields.
//
// A frame is heap memory that does not move, since the library writes to it, and
// comes from a pool, since every call needs one.
type frame struct {
	bind   uintptr // the function that makes ctx current; 0 if the call needs no context
	ctx    uintptr
	fn     uintptr
	failed uintptr // set if bind failed; then fn was not called
	args   [maxArgs]uintptr
	out    [resultWord + 1]uint64
	text   [deviceNameSize]byte
}

// resultWord is the element of out behind the room for a handle.
const resultWord = handleSize / 8

// maxArgs is the largest number of arguments of a call, counted in words. A structure that is passed by value counts
// with its words.
const maxArgs = 14

var frames = sync.Pool{New: func() any { return new(frame) }}

func (f *frame) outAddr(i int) uintptr { return uintptr(unsafe.Pointer(&f.out[i])) }

func (f *frame) put() { frames.Put(f) }

// call makes the context current and calls the function on the same thread.
func (f *frame) call() Code {
	status := int32(f.invoke())
	if f.failed != 0 {
		return Unbound(status)
	}
	return Code(uint32(status))
}
