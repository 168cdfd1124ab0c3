package hostmem

import (
	"encoding/binary"
	"syscall"
)

// available reports whether n bytes fit into the machine's memory. Unlike on other Unix systems a trial mmap is of no use on macOS,
// because it reserves more addresses than there is memory. If the size of the memory is not known, available returns true.
func available(n uint64) bool {
	value, err := syscall.Sysctl("hw.memsize")
	if err != nil || len(value) > 8 {
		return true
	}
	// Sysctl treats the number as a string and drops the zero byte at its end.
	var word [8]byte
	copy(word[:], value)
	return n <= binary.LittleEndian.Uint64(word[:])
}
