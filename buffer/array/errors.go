package array

import (
	"fmt"

	"github.com/go-halyard/halyard/hal"
)

func failure(op string, kind error, format string, args ...any) error {
	return &hal.Error{Op: op, Device: -1, Kind: kind, Detail: fmt.Sprintf(format, args...)}
}

// misfit describes an index that shape does not have. It keeps no reference to its arguments, so that
// those of a good index need not be allocated.
//
//go:noinline
func misfit(op string, index, shape []int) error {
	at, of := append([]int{}, index...), append([]int{}, shape...)
	if len(at) != len(of) {
		return failure(op, hal.ErrInvalidArgument, "%d indices for the %d axes of shape %v", len(at), len(of), of)
	}
	return failure(op, hal.ErrOutOfRange, "index %v of shape %v", at, of)
}
