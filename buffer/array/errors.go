package array

import "github.com/go-halyard/halyard/hal"

// misfit describes an index that shape does not have. It keeps no reference to its arguments, so that
// those of a good index need not be allocated.
//
//go:noinline
func misfit(op string, index, shape []int) error {
	at, of := append([]int{}, index...), append([]int{}, shape...)
	if len(at) != len(of) {
		return hal.Errorf(op, hal.ErrInvalidArgument, "%d indices for the %d axes of shape %v", len(at), len(of), of)
	}
	return hal.Errorf(op, hal.ErrOutOfRange, "index %v of shape %v", at, of)
}
