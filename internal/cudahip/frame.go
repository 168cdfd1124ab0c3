package cudahip

import (
	"sync"
	"unsafe"
)

// frame describes one call: the context to make current first, the function, its arguments, and
// space for its results. The assembly code relies on the offsets of args and the fields before it.
//
// The library writes to a frame, so a frame must not move: it is heap memory. Every call needs a
// frame, so frames come from a pool.
type frame struct {
	bind   uintptr // the function that makes ctx current; 0 if the call needs no context
	ctx    uintptr
	fn     uintptr
	failed uintptr // set if bind failed; then fn was not called
	args   [maxArgs]uintptr
	out    [resultWord + 1]uint64
	text   [deviceNameSize]byte
}

// resultWord is the index of the element of out that follows the space for a handle.
const resultWord = handleSize / 8

// maxArgs is the largest number of arguments of a call, counted in words. A structure that is passed by value counts
// as many as it has words.
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
