package hal

import (
	"fmt"

	"github.com/go-halyard/halyard/hal/driver"
)

// Error is the type of every error of this package; errors.As finds it. Its Kind is one
// of the sentinel errors below, which errors.Is matches. Vendor is the status that a
// vendor's call returned, if a vendor's call failed.
type Error = driver.Error

// The kinds of error.
var (
	ErrUnavailable     = driver.ErrUnavailable     // the backend's driver or device is missing
	ErrNotBuilt        = driver.ErrNotBuilt        // the program was built without the backend
	ErrUnsupported     = driver.ErrUnsupported     // the device does not support the operation
	ErrOutOfMemory     = driver.ErrOutOfMemory     // Error.Shortage has the figures, if a device's allocation failed
	ErrInvalidArgument = driver.ErrInvalidArgument // an argument that no device accepts
	ErrOutOfRange      = driver.ErrOutOfRange      // beyond the end of the memory
	ErrOverlap         = driver.ErrOverlap         // source and destination share bytes
	ErrMisaligned      = driver.ErrMisaligned      // not a multiple of the required alignment
	ErrClosed          = driver.ErrClosed          // a handle was used after Close
	ErrBusy            = driver.ErrBusy            // still in use
	ErrNotReady        = driver.ErrNotReady        // not finished yet; if a context has ended, errors.Is finds its cause (context.Cause)
	ErrWrongDevice     = driver.ErrWrongDevice     // belongs to a device that cannot be reached
	ErrDeviceLost      = driver.ErrDeviceLost      // the device stopped working for this process
	ErrDriver          = driver.ErrDriver          // the vendor's driver reported something unforeseen
	ErrBuild           = driver.ErrBuild           // code does not compile or link; errors.As finds a BuildError
	ErrNotFound        = driver.ErrNotFound        // there is no kernel of that name
	ErrKernel          = driver.ErrKernel          // a kernel in Go panicked or ended its goroutine
)

// Errorf returns an error of the given kind that belongs to no device, for packages above this one that check arguments
// themselves. op names the operation that failed; format and args say what was wrong.
func Errorf(op string, kind error, format string, args ...any) error {
	return &Error{Op: op, Device: -1, Kind: kind, Detail: fmt.Sprintf(format, args...)}
}

func isKind(err, kind error) bool {
	e, ok := err.(*Error)
	return ok && e.Kind == kind
}
