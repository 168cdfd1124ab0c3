package kernelcache

import (
	"errors"
	"syscall"
	"time"
)

// Errors of winerror.h that package syscall leaves out.
const (
	errorSharingViolation = syscall.Errno(32)
	errorLockViolation    = syscall.Errno(33)
)

// retry calls fn again, for up to 0.25 s, while it fails as it does when another program, often a virus scanner, has the file open.
func retry(fn func() error) error {
	for pause := time.Millisecond; ; pause *= 2 {
		err := fn()
		busy := errors.Is(err, errorSharingViolation) || errors.Is(err, errorLockViolation) || errors.Is(err, syscall.ERROR_ACCESS_DENIED)
		if !busy || pause > 128*time.Millisecond {
			return err
		}
		time.Sleep(pause)
	}
}
