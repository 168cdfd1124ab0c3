package protocol

import (
	"errors"
	"fmt"
)

// The kinds of error, beside coherence.ErrConflict (an action needs bytes that are valid at its place, and they are not) and
// coherence.ErrSoleCopy (the only valid replica would be lost). Every error of this package matches exactly one of them with
// errors.Is, and means that the state or map has not changed.
var (
	// ErrInvalidPlace says that a place is neither the host nor a device.
	ErrInvalidPlace = errors.New("invalid place")
	// ErrInvalidAction says that an action is none of those that Actions lists.
	ErrInvalidAction = errors.New("invalid action")
	// ErrInvalidState says that a place is valid in a state without being allocated.
	ErrInvalidState = errors.New("invalid state")
	// ErrInvalidRange says that a range is reversed or ends after the last byte.
	ErrInvalidRange = errors.New("invalid range")
)

// RefusalError is a refusal because of where the bytes are valid. Its Kind is coherence.ErrConflict or coherence.ErrSoleCopy.
type RefusalError struct {
	Kind   error
	Action Action
	Place  Place
	State  State  // of the first interval for which the action is refused
	Lo, Hi uint64 // that interval in bytes; both zero for a refusal by State.Plan
}

// Error is one line with all fields.
func (e *RefusalError) Error() string {
	where := ""
	if e.Hi > e.Lo {
		where = fmt.Sprintf(" of bytes [%d, %d)", e.Lo, e.Hi)
	}
	return fmt.Sprintf("protocol: %v at %v%s: %v: valid at %v, allocated at %v",
		e.Action, e.Place, where, e.Kind, e.State.Valid, e.State.Allocated)
}

// Is reports whether target is the error's kind.
func (e *RefusalError) Is(target error) bool { return target == e.Kind }

func invalidRange(lo, hi, size uint64) error {
	return fmt.Errorf("protocol: %w: [%d, %d) in a map of %d bytes", ErrInvalidRange, lo, hi, size)
}

func invalidPlace(p Place) error { return fmt.Errorf("protocol: %w %d", ErrInvalidPlace, uint8(p)) }

func invalidAction(a Action) error {
	return fmt.Errorf("protocol: %w %d", ErrInvalidAction, uint8(a))
}
