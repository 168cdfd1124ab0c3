//go:build unix

package commtest

import "syscall"

func mapPages(n int) ([]byte, error) {
	return syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
}

func unmapPages(pages []byte) { _ = syscall.Munmap(pages) }
