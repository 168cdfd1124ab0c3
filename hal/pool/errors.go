package pool

import (
	"errors"
	"fmt"

	"github.com/go-halyard/halyard/hal"
)

// failure is an error that belongs to the device, or to none if dev is nil.
func failure(dev *hal.Device, op string, kind error, format string, args ...any) error {
	if dev == nil {
		return hal.Errorf(op, kind, format, args...)
	}
	info := dev.Info()
	return &hal.Error{Op: op, Backend: info.Backend, Device: info.Ordinal, Kind: kind, Detail: fmt.Sprintf(format, args...)}
}

func (p *Pool) failure(op string, kind error, format string, args ...any) error {
	return failure(p.dev, op, kind, format, args...)
}

// ExhaustedError is what errors.As finds in an error of kind hal.ErrOutOfMemory of a [Pool]: who held what
// when the memory ran out, and what the device or the limit said.
type ExhaustedError struct {
	Report Report
	err    error // the last refusal
}

// Error gives the refusal, and the report in one line.
func (e *ExhaustedError) Error() string { return fmt.Sprintf("%v; %s", e.err, e.Report.Summary()) }

// Unwrap returns the last refusal.
func (e *ExhaustedError) Unwrap() error { return e.err }

func isShort(err error) bool { return errors.Is(err, hal.ErrOutOfMemory) }

func isClosed(err error) bool { return errors.Is(err, hal.ErrClosed) }
