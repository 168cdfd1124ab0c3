//go:build linux && (amd64 || arm64)

package cudahip

import "unsafe"

// boundEntry is the address of a C function of one argument, a *Frame, that makes the
// frame's context current and calls its function with its arguments. One crossing from
// Go to C does both, so the goroutine cannot change threads in between.
func boundEntry() uintptr

var bound = boundEntry()

//go:linkname cgocall runtime.cgocall
func cgocall(fn, arg unsafe.Pointer) int32

func (f *Frame) invoke() uintptr {
	f.failed = 0
	return uintptr(cgocall(*(*unsafe.Pointer)(unsafe.Pointer(&bound)), unsafe.Pointer(f)))
}
