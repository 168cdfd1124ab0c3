// Package pintest gives tests addresses of Go memory that stay valid until the test ends. Without it, an address that is
// a uintptr goes stale when the variable is on a stack and the stack moves, and the garbage
// collector does not count it as a use of the variable.
package pintest

import (
	"runtime"
	"testing"
	"unsafe"
)

// Address returns the address of v, which is neither moved nor collected before the test has ended.
func Address[T any](tb testing.TB, v *T) uintptr {
	var pin runtime.Pinner
	pin.Pin(v)
	tb.Cleanup(pin.Unpin)
	return uintptr(unsafe.Pointer(v))
}

// Slice returns the address of the first element of s. The elements are neither moved nor collected before the test has ended.
func Slice[T any](tb testing.TB, s []T) uintptr { return Address(tb, unsafe.SliceData(s)) }
