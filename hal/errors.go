package hal

import (
	"context"
	"fmt"

	"github.com/go-halyard/halyard/hal/driver"
)

// Error is the type of every error of this package; errors.As finds it. Its Kind is one
// of the sentinel errors below, which errors.Is matches, and Vendor is the status that
// the vendor's interface gave, if it was asked.
type Error = driver.Error

// The kinds of error.
var (
	ErrUnavailable     = driver.ErrUnavailable     // the backend's driver or device is not there
	ErrNotBuilt        = driver.ErrNotBuilt        // the program was built without the backend
	ErrUnsupported     = driver.ErrUnsupported     // this device cannot do that
	ErrOutOfMemory     = driver.ErrOutOfMemory     // Error.Shortage has the figures
	ErrInvalidArgument = driver.ErrInvalidArgument // an argument that no device accepts
	ErrOutOfRange      = driver.ErrOutOfRange      // beyond the end of the memory
	ErrOverlap         = driver.ErrOverlap         // source and destination share bytes
	ErrMisaligned      = driver.ErrMisaligned      // not a multiple of what is required
	ErrClosed          = driver.ErrClosed          // a handle was used after Close
	ErrBusy            = driver.ErrBusy            // still in use
	ErrNotReady        = driver.ErrNotReady        // not finished yet; a context may have ended
	ErrWrongDevice     = driver.ErrWrongDevice     // belongs to a device that cannot be reached
	ErrDeviceLost      = driver.ErrDeviceLost      // the device stopped working for this process
	ErrDriver          = driver.ErrDriver          // the vendor's driver reported something unforeseen
)

// Errorf returns an error of one of the kinds that belongs to no device, for packages that check what their callers pass on to
// this one. op is the operation that failed; format and args say what was wrong.
func Errorf(op string, kind error, format string, args ...any) error {
	return &Error{Op: op, Device: -1, Kind: kind, Detail: fmt.Sprintf(format, args...)}
}

func (d *deviceState) failure(op string, kind error, format string, args ...any) error {
	return &Error{Op: op, Backend: d.info.Backend, Device: d.info.Ordinal, Kind: kind,
		Detail: fmt.Sprintf(format, args...)}
}

// Interrupted returns the error of an operation that ended because ctx did: it is of kind [ErrNotReady] and wraps the context's cause.
func Interrupted(op string, ctx context.Context) error {
	return &Error{Op: op, Device: -1, Kind: ErrNotReady, Err: context.Cause(ctx)}
}
