//go:build opencl

package opencl

import (
	"fmt"
	"slices"

	"github.com/go-halyard/halyard/hal/driver"
)

// status is an OpenCL status code. Negative codes are errors.
type status int32

const (
	success         status = 0
	deviceNotFound  status = -1
	noPlatform      status = -1001
	failedWaitEvent status = -14
	outOfResources  status = -5
	invalidValue    status = -30
	invalidOptions  status = -43
	invalidArgSize  status = -51
)

// known is one status that OpenCL or an extension defines.
type known struct {
	code status
	name string
	kind error
}

func (st status) known() known {
	for _, k := range statuses {
		if k.code == st {
			return k
		}
	}
	return known{st, fmt.Sprintf("status %d", st), driver.ErrDriver}
}

// failure returns the error for a status. device is an ordinal or -1.
func failure(op string, device int, api string, st status) *driver.Error {
	k := st.known()
	return &driver.Error{Op: op, Backend: backendName, Device: device, Kind: k.kind,
		Vendor: driver.Vendor{API: api, Name: k.name, Code: int64(st)}}
}

// refusal returns an error that the backend itself detected.
func refusal(op string, device int, kind error, format string, args ...any) *driver.Error {
	return &driver.Error{Op: op, Backend: backendName, Device: device, Kind: kind,
		Detail: fmt.Sprintf(format, args...)}
}

// fail is failure for a call of the device, and check is fail for a call that may have succeeded. refuse is refusal for the device.

func (d *device) fail(op, api string, st status) *driver.Error {
	return failure(op, d.info.Ordinal, api, st)
}

func (d *device) check(op, api string, st status) error {
	if st == success {
		return nil
	}
	return d.fail(op, api, st)
}

func (d *device) refuse(op string, kind error, format string, args ...any) *driver.Error {
	return refusal(op, d.info.Ordinal, kind, format, args...)
}

// VendorCodes lists every error status for which the backend has a name, in descending order.
func (b *backend) VendorCodes() []int64 {
	codes := make([]int64, len(statuses))
	for i, k := range statuses {
		codes[i] = int64(k.code)
	}
	slices.SortFunc(codes, func(a, b int64) int { return int(b - a) })
	return codes
}

// VendorError returns the error with which the backend reports a status. An unknown status is of kind ErrDriver.
func (b *backend) VendorError(api string, code int64) error {
	return failure("vendor call", -1, api, status(code))
}
