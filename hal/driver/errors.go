package driver

import (
	"errors"
	"fmt"
	"strings"
)

// The kinds of error. Every error of a backend and of package hal matches exactly
// one of them with errors.Is.
var (
	ErrUnavailable     = errors.New("backend unavailable")
	ErrNotBuilt        = errors.New("backend not built in")
	ErrUnsupported     = errors.New("not supported")
	ErrOutOfMemory     = errors.New("out of memory")
	ErrInvalidArgument = errors.New("invalid argument")
	ErrOutOfRange      = errors.New("out of range")
	ErrOverlap         = errors.New("source and destination overlap")
	ErrMisaligned      = errors.New("misaligned")
	ErrClosed          = errors.New("already closed")
	ErrBusy            = errors.New("busy")
	ErrNotReady        = errors.New("not ready")
	ErrWrongDevice     = errors.New("wrong device")
	ErrDeviceLost      = errors.New("device lost")
	ErrDriver          = errors.New("driver error")
	ErrBuild           = errors.New("code does not build")
	ErrNotFound        = errors.New("not found")
	ErrKernel          = errors.New("the program's code failed")
)

// Kinds lists every kind of error once, in the order of their definition.
func Kinds() []error {
	return []error{ErrUnavailable, ErrNotBuilt, ErrUnsupported, ErrOutOfMemory,
		ErrInvalidArgument, ErrOutOfRange, ErrOverlap, ErrMisaligned, ErrClosed, ErrBusy,
		ErrNotReady, ErrWrongDevice, ErrDeviceLost, ErrDriver, ErrBuild, ErrNotFound, ErrKernel}
}

// Vendor is a status that the vendor's interface returned, unchanged.
type Vendor struct {
	API  string // the call that failed: "cuMemAlloc_v2"
	Name string // the vendor's name of the code: "CUDA_ERROR_OUT_OF_MEMORY"
	Code int64
}

// Shortage describes the request that failed because memory ran out. Unknown values are
// zero.
type Shortage struct {
	Request uint64 // bytes requested
	Kind    Kind
	Free    uint64 // bytes free on the device, if FreeKnown
	Total   uint64
	Held    uint64 // bytes this process holds through this device handle

	FreeKnown bool
}

// Error is the one error type of backends and of package hal.
type Error struct {
	Op       string // the operation: "alloc", "copy"
	Backend  string // "" if the error belongs to no backend
	Device   int    // ordinal, -1 if the error belongs to no device
	Kind     error  // one of the Err variables
	Detail   string // what was wrong, with the values
	Vendor   Vendor
	Shortage *Shortage // only with ErrOutOfMemory, and not always; package hal adds it to errors of Alloc and AllocAsync
	Err      error     // a cause, or nil
	Site     string    // file:line of the program's launch, if a kernel failed later and the driver knows which; else ""
}

// Error formats all fields in one line.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Backend != "" {
		b.WriteString(e.Backend)
		if e.Device >= 0 {
			fmt.Fprintf(&b, ":%d", e.Device)
		}
		b.WriteString(": ")
	}
	if e.Op != "" {
		b.WriteString(e.Op + ": ")
	}
	if e.Kind != nil {
		b.WriteString(e.Kind.Error())
	} else {
		b.WriteString("error")
	}
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	if s := e.Shortage; s != nil {
		fmt.Fprintf(&b, " (asked for %d bytes of %s memory, holding %d", s.Request, s.Kind, s.Held)
		if s.FreeKnown {
			fmt.Fprintf(&b, ", %d of %d free", s.Free, s.Total)
		}
		b.WriteString(")")
	}
	if e.Vendor.API != "" {
		fmt.Fprintf(&b, " [%s: %s (%d)]", e.Vendor.API, e.Vendor.Name, e.Vendor.Code)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	if e.Site != "" {
		b.WriteString(" (launched at " + e.Site + ")")
	}
	return b.String()
}

// Is reports whether target is the error's kind.
func (e *Error) Is(target error) bool { return e.Kind == target }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
