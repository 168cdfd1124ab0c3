//go:build linux && (amd64 || arm64)

package dl

import (
	"sync"
	"unsafe"
)

// frame is one call. The assembly relies on the order of the fields. It is heap memory, which does not move while C
// calls back into Go, and comes from a pool, since every call needs one.
type frame struct {
	fn     uintptr
	args   [MaxArgs]uintptr
	result uintptr
}

var frames = sync.Pool{New: func() any { return new(frame) }}

// callEntry is the address of a C function of one argument, a *frame, that makes its call.
func callEntry() uintptr

// sequenceEntry is the address of a C function of one argument, a *Sequence, that makes its calls.
func sequenceEntry() uintptr

// chainEntry is the address of a C function of one argument, a *Chain, that makes its calls.
func chainEntry() uintptr

var calling, sequencing, chaining = callEntry(), sequenceEntry(), chainEntry()

//go:linkname cgocall runtime.cgocall
func cgocall(fn, arg unsafe.Pointer) int32

// call always passes MaxArgs arguments. Those after the function's own are in registers and in a part of the stack that
// the function does not read.
func (f *frame) call(p Proc, _ int) uintptr {
	if p == 0 {
		panic("dl: call of a function that was not found")
	}
	f.fn = uintptr(p)
	cgocall(*(*unsafe.Pointer)(unsafe.Pointer(&calling)), unsafe.Pointer(f))
	r := f.result
	frames.Put(f)
	return r
}

// Run makes the calls.
func (s *Sequence) Run() {
	cgocall(*(*unsafe.Pointer)(unsafe.Pointer(&sequencing)), unsafe.Pointer(s))
}

// Call makes the calls. ok is false if the first call failed: then result is that of the first call, and the second was
// not made.
func (p *Pair) Call() (result int32, ok bool) {
	switch {
	case p.proc == 0:
		panic("dl: call of a function that was not found")
	case p.first.proc == 0: // a link begins with the fields of a frame
		cgocall(*(*unsafe.Pointer)(unsafe.Pointer(&calling)), unsafe.Pointer(&p.link))
		return int32(p.result), true
	}
	p.n, p.made = 2, 0
	cgocall(*(*unsafe.Pointer)(unsafe.Pointer(&chaining)), unsafe.Pointer(p))
	if p.made == 0 {
		return int32(p.first.result), false
	}
	return int32(p.result), true
}

// cross makes the calls in one crossing.
func (c *Chain) cross() {
	for i := range c.n {
		if c.links[i].proc == 0 {
			panic("dl: call of a function that was not found")
		}
	}
	cgocall(*(*unsafe.Pointer)(unsafe.Pointer(&chaining)), unsafe.Pointer(c))
}
