package filebackend

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/go-halyard/halyard/hal/driver"
)

// statuses has the names and kinds of errors of the file system; every other one is ErrDriver. A full disk is
// ErrOutOfMemory, even if the file has free ranges.
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

// check wraps an error of the file system. It returns nil for nil.
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

// failure returns an error that does not come from the file system.
func (d *device) failure(op string, kind error, format string, args ...any) error {
	return &driver.Error{Op: op, Backend: d.info.Backend, Device: d.info.Ordinal, Kind: kind, Detail: fmt.Sprintf(format, args...)}
}
