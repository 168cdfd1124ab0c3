//go:build linux || darwin

package host

import (
	"errors"
	"syscall"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/span"
)

// mapPages returns n bytes of fresh zero pages.
func mapPages(n uint64) ([]byte, error) {
	if n > uint64(^uint(0)>>1) {
		return nil, syscall.ENOMEM
	}
	return syscall.Mmap(-1, 0, int(n), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
}

// unmapPages gives back what mapPages returned.
func unmapPages(mapping []byte) error { return syscall.Munmap(mapping) }

// canLock says whether the system can lock pages.
const canLock = true

// lockPages and unlockPages pass the system plain numbers: the whole pages around a range may include
// neighbouring objects of the Go heap, so a Go slice of them would not be valid.
func lockPages(s span.Range) error   { return onPages(syscall.SYS_MLOCK, s) }
func unlockPages(s span.Range) error { return onPages(syscall.SYS_MUNLOCK, s) }

func onPages(call uintptr, s span.Range) error {
	if _, _, errno := syscall.Syscall(call, uintptr(s.Lo), uintptr(s.Hi-s.Lo), 0); errno != 0 {
		return errno
	}
	return nil
}

// vendorOf describes a failed call of the system.
func vendorOf(err error) driver.Vendor {
	v := driver.Vendor{API: "mmap", Name: err.Error()}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		v.Code = int64(errno)
		if errno == syscall.ENOMEM {
			v.Name = "ENOMEM"
		}
	}
	return v
}
