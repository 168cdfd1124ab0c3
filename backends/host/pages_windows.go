package host

import (
	"errors"
	"syscall"
	"unsafe"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/span"
)

var (
	kernel32        = syscall.NewLazyDLL("kernel32.dll")
	virtualAlloc    = kernel32.NewProc("VirtualAlloc")
	virtualFree     = kernel32.NewProc("VirtualFree")
	virtualLock     = kernel32.NewProc("VirtualLock")
	virtualUnlock   = kernel32.NewProc("VirtualUnlock")
	globalMemStatus = kernel32.NewProc("GlobalMemoryStatusEx")
)

const (
	memCommitReserve = 0x3000 // MEM_COMMIT | MEM_RESERVE
	memRelease       = 0x8000
	pageReadWrite    = 0x04
)

// mapPages returns n bytes of fresh zero pages.
func mapPages(n uint64) ([]byte, error) {
	if n > uint64(^uint(0)>>1) {
		return nil, syscall.ENOMEM
	}
	addr, _, err := virtualAlloc.Call(0, uintptr(n), memCommitReserve, pageReadWrite)
	if addr == 0 {
		return nil, err
	}
	return unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&addr))), n), nil
}

// unmapPages gives back what mapPages returned.
func unmapPages(mapping []byte) error {
	if ok, _, err := virtualFree.Call(uintptr(unsafe.Pointer(&mapping[0])), 0, memRelease); ok == 0 {
		return err
	}
	return nil
}

func adviseHuge([]byte) {}

// canLock says whether the system can lock pages.
const canLock = true

func lockPages(s span.Range) error {
	if ok, _, err := virtualLock.Call(uintptr(s.Lo), uintptr(s.Hi-s.Lo)); ok == 0 {
		return err
	}
	return nil
}

func unlockPages(s span.Range) error {
	if ok, _, err := virtualUnlock.Call(uintptr(s.Lo), uintptr(s.Hi-s.Lo)); ok == 0 {
		return err
	}
	return nil
}

// lockLimit returns false: the limit is not queried. It depends on the minimum size of the process's working set.
func lockLimit() (uint64, bool) { return 0, false }

// memoryStatus is MEMORYSTATUSEX.
type memoryStatus struct {
	length, load           uint32
	totalPhys, availPhys   uint64
	totalPage, availPage   uint64
	totalVirt, availVirt   uint64
	availExtendedVirtually uint64
}

// memoryNow returns the free and the total bytes of memory; ok reports whether free is known.
func memoryNow() (free, total uint64, ok bool) {
	s := memoryStatus{length: uint32(unsafe.Sizeof(memoryStatus{}))}
	if r, _, _ := globalMemStatus.Call(uintptr(unsafe.Pointer(&s))); r == 0 {
		return 0, 0, false
	}
	return s.availPhys, s.totalPhys, true
}

func processorName() string { return "" }

// vendorOf describes a failed call of the system.
func vendorOf(err error) driver.Vendor {
	v := driver.Vendor{API: "VirtualAlloc", Name: err.Error()}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		v.Code = int64(errno)
	}
	return v
}
