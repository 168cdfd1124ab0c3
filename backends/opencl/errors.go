//go:build opencl

package opencl

import (
	"fmt"

	"github.com/go-halyard/halyard/hal/driver"
)

const backendName = "opencl"

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

// failure returns the error for a status. ordinal is the device's, or -1.
func failure(op string, ordinal int, api string, st status) *driver.Error {
	k := st.known()
	return &driver.Error{Op: op, Backend: backendName, Device: ordinal, Kind: k.kind,
		Vendor: driver.Vendor{API: api, Name: k.name, Code: int64(st)}}
}

// refusal returns an error that the backend itself detected.
func refusal(op string, ordinal int, kind error, format string, args ...any) *driver.Error {
	return &driver.Error{Op: op, Backend: backendName, Device: ordinal, Kind: kind,
		Detail: fmt.Sprintf(format, args...)}
}
