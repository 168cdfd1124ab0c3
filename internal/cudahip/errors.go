package cudahip

import (
	"fmt"

	"github.com/go-halyard/halyard/hal/driver"
)

// Status is the meaning of a vendor's code.
type Status struct {
	Name string
	Kind error // one of the kinds of package driver
}

// Codes maps each status of a vendor, except success, to its meaning.
type Codes map[int32]Status

// Status returns the meaning of a code. A code that is not in the table is of kind ErrDriver,
// and its name is its number.
func (c Codes) Status(code int32) Status {
	if s, ok := c[code]; ok {
		return s
	}
	return Status{Name: fmt.Sprintf("unknown code %d", code), Kind: driver.ErrDriver}
}

func (l *library) fail(op string, ordinal int, c Call, code Code) *driver.Error {
	s := l.vendor.Codes.Status(code.Value())
	if code.Unbound() {
		c = CallMakeCurrent
	}
	e := &driver.Error{Op: op, Backend: l.vendor.Name, Device: ordinal, Kind: s.Kind,
		Vendor: driver.Vendor{API: l.api.Name(c), Name: s.Name, Code: int64(code.Value())}}
	if code == nullAllocation {
		e.Vendor.Name, e.Vendor.Code = "success", 0
		e.Detail = "the call reported success but returned a null pointer"
	}
	return e
}

// fail returns the error of a call. If the device is lost, it cancels the device's host calls.
func (d *Device) fail(op string, c Call, code Code) *driver.Error {
	e := d.lib.fail(op, d.info.Ordinal, c, code)
	if e.Kind == driver.ErrDeviceLost {
		d.calls.abandon(nil)
	}
	return e
}

// check is fail for a call that may have succeeded.
func (d *Device) check(op string, c Call, code Code) error {
	if code == Success {
		return nil
	}
	return d.fail(op, c, code)
}

func (d *Device) refuse(op string, kind error, format string, args ...any) *driver.Error {
	return &driver.Error{Op: op, Backend: d.lib.vendor.Name, Device: d.info.Ordinal, Kind: kind,
		Detail: fmt.Sprintf(format, args...)}
}
