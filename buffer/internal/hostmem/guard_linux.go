package hostmem

import (
	"errors"
	"syscall"

	"github.com/go-halyard/halyard/hal"
)

func mapPages(n int) ([]byte, error) {
	return syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
}

func unmapPages(pages []byte) { _ = syscall.Munmap(pages) }

func guardKind(err error) error {
	if errors.Is(err, syscall.ENOMEM) {
		return hal.ErrOutOfMemory
	}
	return hal.ErrDriver
}

func protect(pages []byte, l Level) error {
	return syscall.Mprotect(pages, [...]int{syscall.PROT_NONE, syscall.PROT_READ, syscall.PROT_READ | syscall.PROT_WRITE}[l])
}

// discard frees the memory behind the pages, and makes them inaccessible.
func discard(pages []byte) {
	_ = syscall.Madvise(pages, syscall.MADV_DONTNEED)
	_ = protect(pages, Shut)
}
