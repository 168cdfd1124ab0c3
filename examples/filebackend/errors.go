package filebackend

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/go-halyard/halyard/hal/driver"
)

// statuses are the errors of the file system that mean something to a program; every other one is ErrDriver. A
// disk that is full is no more room on the device, however much of the file was free.
var statuses = []struct {
	code syscall.Errno
	name string
	kind error
}{
	{syscall.ENOSPC, "ENOSPC", driver.ErrOutOfMemory},
	{syscall.EDQUOT, "EDQUOT", driver.ErrOutOfMemory},
	{syscall.EFBIG, "EFBIG", driver.ErrOutOfMemory},
	{syscall.EMFILE, "EMFILE", driver.ErrOutOfMemory},
	{syscall.ENOENT, "ENOENT", driver.ErrUnavailable},
	{syscall.EACCES, "EACCES", driver.ErrUnavailable},
	{syscall.EROFS, "EROFS", driver.ErrUnavailable},
	{syscall.EBADF, "EBADF", driver.ErrDriver},
	{syscall.EIO, "EIO", driver.ErrDriver},
}

// check makes an error of what the file system said: nil if the call was good.
func (d *device) check(op, api string, err error) error {
	if err == nil {
		return nil
	}
	e := &driver.Error{Op: op, Backend: d.info.Backend, Device: d.info.Ordinal, Kind: driver.ErrDriver, Err: err}
	var code syscall.Errno
	if errors.As(err, &code) {
		e.Vendor = driver.Vendor{API: api, Name: fmt.Sprintf("errno %d", code), Code: int64(code)}
	}
	for _, s := range statuses {
		if s.code == code {
			e.Kind, e.Vendor.Name = s.kind, s.name
		}
	}
	return e
}

// failure is an error that the file system was not asked about.
func (d *device) failure(op string, kind error, format string, args ...any) error {
	return &driver.Error{Op: op, Backend: d.info.Backend, Device: d.info.Ordinal, Kind: kind, Detail: fmt.Sprintf(format, args...)}
}
