//go:build linux || darwin

package host

import (
	"errors"
	"syscall"

	"github.com/go-halyard/halyard/hal/driver"
	"github.com/go-halyard/halyard/internal/span"
)

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
