package pages

import (
	"syscall"
	"unsafe"
)

var (
	kernel32     = syscall.NewLazyDLL("kernel32.dll")
	virtualAlloc = kernel32.NewProc("VirtualAlloc")
	virtualFree  = kernel32.NewProc("VirtualFree")
)

const (
	memCommitReserve = 0x3000 // MEM_COMMIT | MEM_RESERVE
	memRelease       = 0x8000
	pageReadWrite    = 0x04
)

// Map returns n bytes of zeroed memory, which begin a page and can be written.
func Map(n uint64) ([]byte, error) {
	if n > uint64(^uint(0)>>1) {
		return nil, syscall.ENOMEM
	}
	addr, _, err := virtualAlloc.Call(0, uintptr(n), memCommitReserve, pageReadWrite)
	if addr == 0 {
		return nil, err
	}
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&addr))), n), nil
}

// Unmap gives back what Map has returned.
func Unmap(memory []byte) error {
	if ok, _, err := virtualFree.Call(uintptr(unsafe.Pointer(unsafe.SliceData(memory))), 0, memRelease); ok == 0 {
		return err
	}
	return nil
}
