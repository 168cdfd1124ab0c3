package driver

import (
	"fmt"
	"strings"
)

// The kinds of error. Every error of a backend and of package hal matches exactly
// one of them with errors.Is.
var (
	ErrUnavailable     = newKind("Unavailable", "backend unavailable")
	ErrNotBuilt        = newKind("NotBuilt", "backend not built in")
	ErrUnsupported     = newKind("Unsupported", "not supported")
	ErrOutOfMemory     = newKind("OutOfMemory", "out of memory")
	ErrInvalidArgument = newKind("InvalidArgument", "invalid argument")
	ErrOutOfRange      = newKind("OutOfRange", "out of range")
	ErrOverlap         = newKind("Overlap", "source and destination overlap")
	ErrMisaligned      = newKind("Misaligned", "misaligned")
	ErrClosed          = newKind("Closed", "already closed")
	ErrBusy            = newKind("Busy", "busy")
	ErrNotReady        = newKind("NotReady", "not ready")
	ErrWrongDevice     = newKind("WrongDevice", "wrong device")
	ErrDeviceLost      = newKind("DeviceLost", "device lost")
	ErrDriver          = newKind("Driver", "driver error")
	ErrBuild           = newKind("Build", "code does not build")
	ErrNotFound        = newKind("NotFound", "not found")
	ErrKernel          = newKind("Kernel", "the program's code failed")
)

// kind is a kind of error.
type kind struct{ name, text string }

func newKind(name, text string) error { return &kind{name, text} }

func (k *kind) Error() string { return k.text }

// KindName is the name without Err.
func (k *kind) KindName() string { return k.name }

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
	Shortage *Shortage // only with ErrOutOfMemory, and not always
	Err      error     // a cause, or nil
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
	return b.String()
}

// Is reports whether target is the error's kind.
func (e *Error) Is(target error) bool { return e.Kind == target }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindName returns the name of the error's kind, as KindName of package hal does.
func (e *Error) KindName() string {
	if k, ok := e.Kind.(interface{ KindName() string }); ok {
		return k.KindName()
	}
	return ""
}
