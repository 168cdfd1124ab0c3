package dl

import "unsafe"

// CString returns s with a NUL byte behind it. Pass the address of its first
// element, in the argument list itself. C sees s up to its first NUL byte.
func CString(s string) []byte {
	b := make([]byte, len(s)+1)
	copy(b, s)
	return b
}

// GoString copies the NUL-terminated string at a C address. For address 0 it returns the empty string.
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

// Address returns the address of memory that C still uses after the call to which the address is passed, such as the host side of an
// asynchronous copy. It makes the compiler place the memory on the heap, where it does not move: after a plain conversion of p to uintptr,
// a caller's local variable could stay on a stack, which moves when it grows. The caller keeps the memory alive until C is done.
func Address(p unsafe.Pointer) uintptr {
	if escapes.always {
		escapes.pointer = p
	}
	return uintptr(p)
}

// escapes makes pointers escape to the heap. It is never written to, but the compiler cannot know that.
var escapes struct {
	always  bool
	pointer unsafe.Pointer
}
