package pages

import "syscall"

// Protect sets how some pages can be accessed.
func Protect(pages []byte, a Access) error {
	return syscall.Mprotect(pages, [...]int{syscall.PROT_NONE, syscall.PROT_READ, syscall.PROT_READ | syscall.PROT_WRITE}[a])
}

// Discard frees the memory behind pages, and makes them inaccessible. Their addresses stay reserved.
func Discard(pages []byte) {
	_ = syscall.Madvise(pages, syscall.MADV_DONTNEED)
	_ = Protect(pages, None)
}
