package buffer

import (
	"syscall"
	"unsafe"
)

var globalMemoryStatus = syscall.NewLazyDLL("kernel32.dll").NewProc("GlobalMemoryStatusEx")

// memoryStatus is MEMORYSTATUSEX.
type memoryStatus struct {
	length, load             uint32
	totalPhys, availPhys     uint64 // bytes
	totalCommit, availCommit uint64 // bytes; the fields PageFile
	totalVirtual, availVirt  uint64 // bytes
	availExtendedVirtual     uint64 // always 0
}

// available reports whether the system would give n bytes of memory now. Windows promises no more memory than it has, so what
// may still be promised is the answer. How far the page file could grow is not counted. A system that does not answer
// is taken to have the memory.
func available(n uint64) bool {
	s := memoryStatus{length: uint32(unsafe.Sizeof(memoryStatus{}))}
	if ok, _, _ := globalMemoryStatus.Call(uintptr(unsafe.Pointer(&s))); ok == 0 {
		return true
	}
	return n <= min(s.availCommit, s.availVirt)
}
