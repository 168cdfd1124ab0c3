//go:build !unix

package commtest

import "unsafe"

// mapPages takes memory from Go's heap. For this engine that is safe, because the job keeps the memory reachable.
func mapPages(n int) ([]byte, error) {
	b := make([]byte, n+pageSize)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(b))) & (pageSize - 1)
	return b[skip : int(skip)+n : int(skip)+n], nil
}

func unmapPages([]byte) {}
