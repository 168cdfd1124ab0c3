package memcopy

import (
	"runtime/debug"
	"unsafe"
)

// Word returns the word at an address that may be any number. It reports false if the process cannot read there.
func Word(addr uintptr) (word uintptr, ok bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recover() != nil {
			word, ok = 0, false
		}
	}()
	return **(**uintptr)(unsafe.Pointer(&addr)), true
}

// Readable reports whether the process can read the byte at an address that may be any number.
func Readable(addr uintptr) bool {
	_, ok := Word(addr &^ (unsafe.Sizeof(addr) - 1)) // the same page
	return ok
}
