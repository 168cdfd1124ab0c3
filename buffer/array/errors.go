package array

import "github.com/go-halyard/halyard/hal"

// misfit returns the error for an index that does not exist in shape. It keeps no reference to its arguments, so
// that the arguments of valid calls need not be allocated.
//
//go:noinline
func misfit(op string, index, shape []int) error {
	at, of := append([]int{}, index...), append([]int{}, shape...)
	if len(at) != len(of) {
		return hal.Errorf(op, hal.ErrInvalidArgument, "%d indices instead of %d for shape %v", len(at), len(of), of)
	}
	return hal.Errorf(op, hal.ErrOutOfRange, "index %v is outside shape %v", at, of)
}
