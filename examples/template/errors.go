package template

import (
	"fmt"

	"github.com/go-halyard/halyard/hal/driver"
)

// REPLACE the rows with every status that the vendor's headers define. A status belongs to exactly one kind; one that a
// program cannot act on is ErrDriver. After ErrDeviceLost package hal refuses all further use of the device handle.
var statuses = []struct {
	code status
	name string // as the vendor writes it
	kind error
}{
	{statusNoMemory, "STATUS_NO_MEMORY", driver.ErrOutOfMemory},
	{statusBadValue, "STATUS_BAD_VALUE", driver.ErrInvalidArgument},
	{statusBroken, "STATUS_BROKEN", driver.ErrDriver},
	{statusGone, "STATUS_GONE", driver.ErrDeviceLost},
}

// check returns the error for a status, nil if the call succeeded. Every error of a backend is a *driver.Error that
// names the operation, the backend and the device, and has the vendor's call, name and code.
func (d *device) check(op, api string, st status) error {
	if st == statusOK {
		return nil
	}
	e := &driver.Error{Op: op, Backend: d.info.Backend, Device: d.info.Ordinal, Kind: driver.ErrDriver,
		Vendor: driver.Vendor{API: api, Name: fmt.Sprintf("STATUS_%d", st), Code: int64(st)}}
	for _, s := range statuses {
		if s.code == st {
			e.Kind, e.Vendor.Name = s.kind, s.name
		}
	}
	return e
}

// failure returns an error that does not come from the vendor's library.
func (d *device) failure(op string, kind error, format string, args ...any) error {
	return &driver.Error{Op: op, Backend: d.info.Backend, Device: d.info.Ordinal, Kind: kind, Detail: fmt.Sprintf(format, args...)}
}
