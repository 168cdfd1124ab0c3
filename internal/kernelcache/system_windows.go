package kernelcache

import (
	"errors"
	"io/fs"
	"syscall"
	"time"
)

// Errors of winerror.h that package syscall leaves out.
const (
	errorSharingViolation = syscall.Errno(32)
	errorLockViolation    = syscall.Errno(33)
)

// retry calls fn, and calls it again for up to 0.25 s while its error says that another program has the file open. Often that is a virus
// scanner.
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

// unsafeFolder returns "": here a folder's mode does not say who can write to it.
func unsafeFolder(fs.FileInfo) string { return "" }

func foreignLink(fs.FileInfo) string { return "" }
