package cudahip

import (
	"sync"
	"unsafe"
)

// frame is one call: what to make current first, the function, its arguments and room for its
// results. The assembly knows the offsets of the first four fields.
//
// A frame is heap memory that does not move, since the library writes to it, and
// comes from a pool, since every call needs one.
type frame struct {
	bind   uintptr // makes ctx current; 0 for nothing
	ctx    uintptr
	fn     uintptr
	failed uintptr // set if bind did
	args   [maxArgs]uintptr
	out    [resultWord + 1]uint64
	text   [deviceNameSize]byte
}

// resultWord is the element of out behind the room for a handle.
const resultWord = handleSize / 8

// maxArgs is the number of arguments of a call, those that pass a structure by value included.
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
