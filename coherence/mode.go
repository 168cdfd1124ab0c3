package coherence

import "strconv"

// Mode is what an access does to the elements that it is given. A call that takes a mode refuses any other value than these three,
// with an error of kind hal.ErrInvalidArgument.
type Mode uint8

const (
	// Read makes the elements current where the access is. They must not be changed there.
	Read Mode = iota
	// ReadWrite makes the elements current where the access is. Every other replica of them is stale from then on.
	ReadWrite
	// Overwrite announces that every element will be written where the access is, so that nothing is copied there. Every other replica
	// is stale from then on. Until the elements are written, their contents are unspecified.
	Overwrite
)

var modeNames = [...]string{"Read", "ReadWrite", "Overwrite"}

// String returns the name of the mode as Go code writes it.
func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return "Mode(" + strconv.Itoa(int(m)) + ")"
}
