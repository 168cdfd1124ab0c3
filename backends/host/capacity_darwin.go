package host

import (
	"encoding/binary"
	"syscall"
)

func adviseHuge([]byte) {}

// lockLimit returns false: the limit is not known.
func lockLimit() (uint64, bool) { return 0, false }

// memoryNow returns the total bytes of memory; how much is free is not known.
func memoryNow() (free, total uint64, ok bool) {
	value, err := syscall.Sysctl("hw.memsize")
	if err != nil || len(value) > 8 {
		return 0, 0, false
	}
	// Sysctl treats the number as a string and drops a zero byte at its end.
	var word [8]byte
	copy(word[:], value)
	return 0, binary.LittleEndian.Uint64(word[:]), false
}

// processorName returns the kernel's name of the processor, or "".
func processorName() string {
	name, err := syscall.Sysctl("machdep.cpu.brand_string")
	if err != nil {
		return ""
	}
	return name
}
