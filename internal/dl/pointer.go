package dl

import "unsafe"

// CString returns s with a NUL byte behind it. Pass the address of its first
// element, in the argument list itself. C sees s up to its first NUL byte.
func CString(s string) []byte {
	b := make([]byte, len(s)+1)
	copy(b, s)
	return b
}

// GoString copies the NUL-terminated string at a C address. The address 0 gives
// the empty string.
func GoString(addr uintptr) string {
	if addr == 0 {
		return ""
	}
	start := (*byte)(Pointer(addr))
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(start), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(start, n))
}

// Pointer converts an address of memory that C owns to a pointer. It must not be
// used for memory of the Go heap, which the conversion does not keep alive.
func Pointer(addr uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&addr))
}

// Address returns the address of memory that C goes on using after the call that it is
// passed to, such as the host side of an asynchronous copy. What p points to is made to live
// on the heap, where it does not move: a plain conversion of a parameter to uintptr would
// let a caller's local variable stay on a stack that moves when it grows. Whoever started
// the work keeps the memory alive until C is done.
func Address(p unsafe.Pointer) uintptr {
	if escapes.always {
		escapes.pointer = p
	}
	return uintptr(p)
}

// escapes is never written to, which the compiler cannot know.
var escapes struct {
	always  bool
	pointer unsafe.Pointer
}
