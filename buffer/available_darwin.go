package buffer

import (
	"encoding/binary"
	"syscall"
)

// available reports whether n bytes fit into the machine's memory. macOS hands out more addresses than it has memory for, so that
// mmap, which tells on other systems, refuses next to nothing here. A system that does not answer is taken to have the memory.
func available(n uint64) bool {
	value, err := syscall.Sysctl("hw.memsize")
	if err != nil || len(value) > 8 {
		return true
	}
	// Sysctl takes the number for a string and drops the zero at its end.
	var word [8]byte
	copy(word[:], value)
	return n <= binary.LittleEndian.Uint64(word[:])
}
