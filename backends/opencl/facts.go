//go:build opencl

package opencl

import (
	"encoding/binary"
	"strings"
)

// wordSize is the size of an address and of size_t in bytes.
const wordSize = 8

// facts queries the information of a platform, device, program or kernel. Information that is not reported reads as zero.
type facts struct {
	get func(param uint32, value []byte) (uint64, status)
}

// factsOf returns the facts of an object that a call of the table reports.
func factsOf(get func(object uintptr, param uint32, value []byte) (uint64, status), object uintptr) facts {
	return facts{func(param uint32, value []byte) (uint64, status) { return get(object, param, value) }}
}

func (f facts) bytes(param uint32) []byte {
	n, st := f.get(param, nil)
	if st != success || n == 0 {
		return nil
	}
	value := make([]byte, n)
	if _, st := f.get(param, value); st != success {
		return nil
	}
	return value
}

func (f facts) text(param uint32) string {
	text, _, _ := strings.Cut(string(f.bytes(param)), "\x00")
	return strings.Join(strings.Fields(text), " ")
}

// number reads an integer of 4 or 8 bytes.
func (f facts) number(param uint32) uint64 {
	var value [8]byte
	if n, st := f.get(param, value[:]); st != success || n > 8 {
		return 0
	}
	return binary.NativeEndian.Uint64(value[:])
}

// words reads n integers of 4 bytes.
func (f facts) words(param uint32, n int) []uint32 {
	b := f.bytes(param)
	if len(b) < 4*n {
		return nil
	}
	words := make([]uint32, n)
	for i := range words {
		words[i] = binary.NativeEndian.Uint32(b[4*i:])
	}
	return words
}

// sizes reads n integers of the type size_t.
func (f facts) sizes(param uint32, n int) []uint64 {
	b := f.bytes(param)
	if len(b) < wordSize*n {
		return nil
	}
	sizes := make([]uint64, n)
	for i := range sizes {
		sizes[i] = binary.NativeEndian.Uint64(b[wordSize*i:])
	}
	return sizes
}
