package dl

import (
	"runtime"

	"github.com/ebitengine/purego"
)

// ByValue calls a C function that takes one struct by value. value is the struct: it is larger than two words, has at
// most [MaxValue] words and no floating-point members. args are the other arguments, at most six integers and
// pointers. at is how many of them come before the struct.
//
// Because args is a slice, an address of Go memory in it must be an address in the heap, and the caller keeps that
// memory alive: see [Words].
//
// On amd64 such a struct lies on the stack and takes no register (System V ABI, section 3.2.3). Elsewhere its address
// is passed (AAPCS64, section 6.8.2, stage B; Windows).
func (p Proc) ByValue(args []uintptr, at int, value []uint64) uintptr {
	const registers = 6
	if len(args) > registers || at < 0 || at > len(args) || len(value) < 3 || len(value) > MaxValue {
		panic("dl: arguments that cannot be passed by value")
	}
	var words []uintptr
	if runtime.GOARCH == "amd64" && runtime.GOOS != "windows" {
		words = make([]uintptr, registers, registers+len(value))
		copy(words, args)
		for _, w := range value {
			words = append(words, uintptr(w))
		}
		r, _, _ := purego.SyscallN(uintptr(p), words...)
		return r
	}
	heap := append([]uint64(nil), value...) // the callee owns this copy and may write to it
	words = append(words, args[:at]...)
	words = append(words, sliceAddress(heap))
	words = append(words, args[at:]...)
	r, _, _ := purego.SyscallN(uintptr(p), words...)
	runtime.KeepAlive(heap)
	return r
}

// MaxValue is the largest number of words of a struct that is passed by value.
const MaxValue = 16
