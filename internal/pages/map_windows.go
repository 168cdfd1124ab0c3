package pages

import (
	"syscall"
	"unsafe"
)

var (
	kernel32     = syscall.NewLazyDLL("kernel32.dll")
	virtualAlloc = kernel32.NewProc("VirtualAlloc")
	virtualFree  = kernel32.NewProc("VirtualFree")
	memoryStatus = kernel32.NewProc("GlobalMemoryStatusEx")
)

const (
	memCommitReserve = 0x3000 // MEM_COMMIT | MEM_RESERVE
	memRelease       = 0x8000
	pageReadWrite    = 0x04
)

// Maps says whether the system maps pages.
const Maps = true

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

// Status is MEMORYSTATUSEX, in bytes.
type Status struct {
	length, load               uint32
	TotalPhys, AvailPhys       uint64
	TotalCommit, AvailCommit   uint64 // the fields PageFile
	TotalVirtual, AvailVirtual uint64
	availExtendedVirtual       uint64 // always 0
}

// Memory returns what the system says of its memory, if it says so.
func Memory() (s Status, ok bool) {
	s.length = uint32(unsafe.Sizeof(s))
	r, _, _ := memoryStatus.Call(uintptr(unsafe.Pointer(&s)))
	return s, r != 0
}
