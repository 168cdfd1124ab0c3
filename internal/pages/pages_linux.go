package pages

import "syscall"

// Map returns zeroed pages for n bytes, which can be written.
func Map(n int) ([]byte, error) {
	return syscall.Mmap(-1, 0, Up(n), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
}

// Unmap gives pages back that Map has returned.
func Unmap(pages []byte) { _ = syscall.Munmap(pages) }

// Protect sets how some pages can be accessed.
func Protect(pages []byte, a Access) error {
	return syscall.Mprotect(pages, [...]int{syscall.PROT_NONE, syscall.PROT_READ, syscall.PROT_READ | syscall.PROT_WRITE}[a])
}

// Discard frees the memory behind pages, and makes them inaccessible. Their addresses stay reserved.
func Discard(pages []byte) {
	_ = syscall.Madvise(pages, syscall.MADV_DONTNEED)
	_ = Protect(pages, None)
}
