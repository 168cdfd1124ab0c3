package cudahip

import (
	"bytes"
	"sync"
	"unsafe"

	"github.com/go-halyard/halyard/internal/dl"
)

// Frame is one call: the context to make current first, the function, its arguments, and space for its results.
//
// The library writes to a frame, so a frame must not move: it is heap memory. Every call needs a frame, so frames come from a pool.
type Frame struct {
	dl.Pair
	Out  [handleSize / 8]uint64 // space for results
	text [textSize]byte         // space for a text or a structure
}

// textSize is the size of the space for a text, such as the name of a device.
const textSize = 256

var frames = sync.Pool{New: func() any { return new(Frame) }}

// Frame returns the frame of a call that makes ctx current first.
func (t *Table) Frame(c Call, ctx Context) *Frame {
	f := frames.Get().(*Frame)
	f.Set(dl.ProcAt(t.procs[CallMakeCurrent]), uintptr(ctx), dl.ProcAt(t.procs[c]))
	return f
}

// Unbound returns the frame of a call that needs no context.
func (t *Table) Unbound(c Call) *Frame { return unboundFrame(t.procs[c]) }

func unboundFrame(fn uintptr) *Frame {
	f := frames.Get().(*Frame)
	f.Set(0, 0, dl.ProcAt(fn))
	return f
}

// OutAddr returns the address of element i of Out.
func (f *Frame) OutAddr(i int) uintptr { return uintptr(unsafe.Pointer(&f.Out[i])) }

// TextAddr returns the address of the space for a text.
func (f *Frame) TextAddr() uintptr { return uintptr(unsafe.Pointer(&f.text)) }

// TextString returns the text that the call wrote, of at most size bytes.
func (f *Frame) TextString(size int) string {
	b := f.text[:size]
	if n := bytes.IndexByte(b, 0); n >= 0 {
		b = b[:n]
	}
	return string(b)
}

// Structure returns space for a structure of 128 bytes, in the place of a text.
func (f *Frame) Structure() *[16]uint64 { return (*[16]uint64)(unsafe.Pointer(&f.text)) }

// Put ends the use of the frame.
func (f *Frame) Put() { frames.Put(f) }

// Call makes the context current and calls the function on the same thread.
func (f *Frame) Call() Code {
	status, bound := f.Pair.Call()
	if !bound {
		return Unbound(status)
	}
	return Code(uint32(status))
}
