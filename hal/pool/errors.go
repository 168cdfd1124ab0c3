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

// ExhaustedError is wrapped in each error of kind hal.ErrOutOfMemory of a [Pool]; errors.As finds it. It says how much
// memory the pool had when it ran out, and why the last attempt failed.
type ExhaustedError struct {
	Limit uint64 // bytes, 0 for none
	Stats        // at that moment
	err   error  // of the last attempt: the device's, or that of the limit or headroom
}

// Error is one line with the error of the last attempt and what the pool had.
func (e *ExhaustedError) Error() string {
	limit := ""
	if e.Limit > 0 {
		limit = " of at most " + formatSize(e.Limit)
	}
	why := e.err.Error()
	if own, ok := e.err.(*hal.Error); ok && own.Op == allocOp { // the error that wraps e has the rest
		why = own.Detail
	}
	return fmt.Sprintf("%s; the pool has taken %s%s, of which %d blocks hold %s", why, formatSize(e.Reserved), limit, e.Blocks,
		formatSize(e.Live))
}

// Unwrap returns the error of the last attempt to get memory.
func (e *ExhaustedError) Unwrap() error { return e.err }

// allocOp is the Op of a pool's own errors of Alloc.
const allocOp = "pool alloc"

func isShort(err error) bool { return errors.Is(err, hal.ErrOutOfMemory) }

func isClosed(err error) bool { return errors.Is(err, hal.ErrClosed) }

// formatSize writes a number of bytes in the largest unit that is not larger than it, with up to two
// digits after the point: "1.50 GiB", "17 B".
func formatSize(n uint64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	i, unit := 0, uint64(1<<10)
	for ; i < 5 && n/unit >= 1<<10; i++ {
		unit <<= 10
	}
	name := "KMGTPE"[i : i+1]
	if n%unit == 0 {
		return fmt.Sprintf("%d %siB", n/unit, name)
	}
	return fmt.Sprintf("%.2f %siB", float64(n)/float64(unit), name)
}
