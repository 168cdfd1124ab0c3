//go:build opencl && unix

package opencl

import "syscall"

// mapHost returns zeroed memory from the system, aligned to a page and outside the Go heap.
func mapHost(size uint64) ([]byte, error) {
	return syscall.Mmap(-1, 0, int(size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
}

func unmapHost(b []byte) error { return syscall.Munmap(b) }
