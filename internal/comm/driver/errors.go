package driver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-halyard/halyard/hal/driver"
)

// The kinds of error. Every error of an engine and of package comm matches exactly one of them with errors.Is. The first five are
// those of package hal.
var (
	ErrUnavailable     = driver.ErrUnavailable
	ErrInvalidArgument = driver.ErrInvalidArgument
	ErrUnsupported     = driver.ErrUnsupported
	ErrOutOfMemory     = driver.ErrOutOfMemory
	ErrClosed          = driver.ErrClosed
	ErrTruncated       = errors.New("the message is longer than the memory for it")
	ErrTimeout         = errors.New("given up before the operation was done")
	ErrRankLost        = errors.New("a rank was lost")
	ErrMismatch        = errors.New("the ranks do not agree")
	ErrEngine          = errors.New("engine error")
)

// NoPeer and NoTag are the values of Error.Peer and Error.Tag where there is none.
const (
	NoPeer = -2
	NoTag  = -2
)

// Error is the one error type of engines and of package comm.
type Error struct {
	Op     string // the operation: "Isend", "Allreduce"
	Kind   error  // one of the Err variables
	Detail string // what was wrong, with the values

	Peer  int           // the rank on the other side or the root, AnySource, or NoPeer
	Tag   int           // AnyTag, or NoTag
	Bytes uint64        // length of the message or of the memory for it; 0 if unknown
	After time.Duration // how long the operation had been under way; 0 if unknown

	API   string // the library's call that failed: "MPI_Isend"
	Class int    // the library's class of error (MPI_Error_class), 0 if there is none
	Code  int    // the library's code, unchanged
	Text  string // the library's text of it

	Err error // a cause, or nil
}

// Error formats all fields in one line.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Op != "" {
		b.WriteString(e.Op)
	}
	var about []string
	switch {
	case e.Peer == AnySource:
		about = append(about, "any rank")
	case e.Peer >= 0:
		about = append(about, fmt.Sprintf("rank %d", e.Peer))
	}
	switch {
	case e.Tag == AnyTag:
		about = append(about, "any tag")
	case e.Tag >= 0:
		about = append(about, fmt.Sprintf("tag %d", e.Tag))
	}
	if e.Bytes > 0 {
		about = append(about, fmt.Sprintf("%d bytes", e.Bytes))
	}
	if e.After > 0 {
		about = append(about, fmt.Sprintf("after %v", e.After.Round(time.Microsecond)))
	}
	if len(about) > 0 {
		b.WriteString(" (" + strings.Join(about, ", ") + ")")
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	if e.Kind != nil {
		b.WriteString(e.Kind.Error())
	} else {
		b.WriteString("error")
	}
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	if e.API != "" {
		fmt.Fprintf(&b, " [%s: %s (class %d, code %d)]", e.API, e.Text, e.Class, e.Code)
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

// Errorf returns an error of the given kind about no rank and no tag. op names the operation that failed; format and args say what was
// wrong.
func Errorf(op string, kind error, format string, args ...any) *Error {
	return &Error{Op: op, Kind: kind, Detail: fmt.Sprintf(format, args...), Peer: NoPeer, Tag: NoTag}
}

// Interrupted returns the error of an operation that was given up because ctx ended.
func Interrupted(op string, ctx context.Context, peer, tag int, bytes uint64, after time.Duration) *Error {
	return &Error{Op: op, Kind: ErrTimeout, Peer: peer, Tag: tag, Bytes: bytes, After: after, Err: context.Cause(ctx)}
}
