//go:build unix

package mpi

import (
	"syscall"
	"unsafe"
)

const canMap = true

func mapPages(size uint64) (unsafe.Pointer, error) {
	b, err := syscall.Mmap(-1, 0, int(size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	return unsafe.Pointer(unsafe.SliceData(b)), nil
}
