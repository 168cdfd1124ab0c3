package pages

import (
	"encoding/binary"
	"syscall"
)

// Memory returns the total bytes of the machine's memory, 0 if they are not known.
func Memory() uint64 {
	value, err := syscall.Sysctl("hw.memsize")
	if err != nil || len(value) > 8 {
		return 0
	}
	// Sysctl treats the number as a string and drops a zero byte at its end.
	var word [8]byte
	copy(word[:], value)
	return binary.LittleEndian.Uint64(word[:])
}
