package host

import (
	"fmt"

	"github.com/go-halyard/halyard/hal/driver"
)

func (d *device) failure(op string, kind error, format string, args ...any) error {
	return &driver.Error{Op: op, Backend: d.info.Backend, Device: d.info.Ordinal, Kind: kind,
		Detail: fmt.Sprintf(format, args...)}
}

// shortage returns an error of kind ErrOutOfMemory; cause is the system's error or nil.
func (d *device) shortage(op string, cause error, format string, args ...any) error {
	e := &driver.Error{Op: op, Backend: d.info.Backend, Device: d.info.Ordinal, Kind: driver.ErrOutOfMemory,
		Detail: fmt.Sprintf(format, args...), Err: cause}
	if cause != nil {
		e.Vendor = vendorOf(cause)
	}
	return e
}
