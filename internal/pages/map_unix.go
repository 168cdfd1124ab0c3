//go:build unix

package pages

import "syscall"

// Maps says whether the system maps pages.
const Maps = true

// Map returns n bytes of zeroed memory, which begin a page and can be written.
func Map(n uint64) ([]byte, error) {
	if n > uint64(^uint(0)>>1) {
		return nil, syscall.ENOMEM
	}
	return syscall.Mmap(-1, 0, int(n), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
}

// Unmap gives back what Map has returned.
func Unmap(memory []byte) error { return syscall.Munmap(memory) }
