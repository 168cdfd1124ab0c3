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

// available reports whether the system would give n bytes of memory now. Windows commits no more memory than it has, so the
// answer is how much it can still commit. How far the page file could grow is not counted. If the system does not answer,
// available returns true.
func available(n uint64) bool {
	s := memoryStatus{length: uint32(unsafe.Sizeof(memoryStatus{}))}
	if ok, _, _ := globalMemoryStatus.Call(uintptr(unsafe.Pointer(&s))); ok == 0 {
		return true
	}
	return n <= min(s.availCommit, s.availVirt)
}
