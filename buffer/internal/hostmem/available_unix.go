//go:build unix && !darwin

package hostmem

import "syscall"

// available reports whether the system can allocate n bytes of memory.
func available(n uint64) bool {
	b, err := syscall.Mmap(-1, 0, int(n), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return false
	}
	_ = syscall.Munmap(b)
	return true
}
