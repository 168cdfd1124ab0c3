//go:build opencl && windows

package opencl

import (
	"syscall"
	"unsafe"

	"github.com/go-halyard/halyard/internal/dl"
)

var (
	kernel32     = syscall.NewLazyDLL("kernel32.dll")
	virtualAlloc = kernel32.NewProc("VirtualAlloc")
	virtualFree  = kernel32.NewProc("VirtualFree")
)

const (
	memCommit     = 0x1000
	memReserve    = 0x2000
	memRelease    = 0x8000
	pageReadWrite = 0x04
)

// mapHost returns zeroed memory from the system, aligned to a page and outside the Go heap.
func mapHost(size uint64) ([]byte, error) {
	addr, _, err := virtualAlloc.Call(0, uintptr(size), memCommit|memReserve, pageReadWrite)
	if addr == 0 {
		return nil, err
	}
	return unsafe.Slice((*byte)(dl.Pointer(addr)), size), nil
}

func unmapHost(b []byte) error {
	if ok, _, err := virtualFree.Call(uintptr(unsafe.Pointer(unsafe.SliceData(b))), 0, memRelease); ok == 0 {
		return err
	}
	return nil
}
