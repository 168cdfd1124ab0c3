package host

import (
	"errors"
	"syscall"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/pages"
	"github.com/go-halyard/halyard/internal/span"
)

var (
	kernel32      = syscall.NewLazyDLL("kernel32.dll")
	virtualLock   = kernel32.NewProc("VirtualLock")
	virtualUnlock = kernel32.NewProc("VirtualUnlock")
)

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

// memoryNow returns the free and the total bytes of memory; ok reports whether free is known.
func memoryNow() (free, total uint64, ok bool) {
	s, ok := pages.Memory()
	return s.AvailPhys, s.TotalPhys, ok
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
