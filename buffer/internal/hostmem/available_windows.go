package hostmem

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

// available reports whether the system can allocate n bytes of memory now. Windows commits no more memory than it has, so n is compared
// with the memory that it can still commit. Possible growth of the page file is not counted. If the call fails, available returns true.
func available(n uint64) bool {
	s := memoryStatus{length: uint32(unsafe.Sizeof(memoryStatus{}))}
	if ok, _, _ := globalMemoryStatus.Call(uintptr(unsafe.Pointer(&s))); ok == 0 {
		return true
	}
	return n <= min(s.availCommit, s.availVirt)
}
