// Package pintest tells tests where memory of Go is, in numbers that stay right. The address of a variable, once
// it is a uintptr, goes stale when the variable turns out to be on a stack and the stack moves; the garbage
// collector does not count it as a use either.
package pintest

import (
	"runtime"
	"testing"
	"unsafe"
)

// Address is where v is, until the test has ended: v is neither moved nor collected before.
func Address[T any](tb testing.TB, v *T) uintptr {
	var pin runtime.Pinner
	pin.Pin(v)
	tb.Cleanup(pin.Unpin)
	return uintptr(unsafe.Pointer(v))
}

// Slice is Address of what a slice leads to.
func Slice[T any](tb testing.TB, s []T) uintptr { return Address(tb, unsafe.SliceData(s)) }
