package protocol

import (
	"strconv"

	"github.com/go-halyard/halyard/coherence"
)

// Action is what is done to a range of bytes at a place. The first three are the modes of an access: a
// [coherence.Mode] converts to the action of the same name.
type Action uint8

const (
	// Read makes the bytes readable at the place.
	Read = Action(coherence.Read)
	// ReadWrite makes the bytes readable at the place, and announces that they will be changed there.
	ReadWrite = Action(coherence.ReadWrite)
	// Overwrite announces that every byte of the range will be written at the place, so that what
	// the range held is not needed.
	Overwrite = Action(coherence.Overwrite)
	// MarkModified reports that the bytes, which were valid at the place, have been changed there.
	MarkModified Action = iota
	// Evict takes the replica away from the place.
	Evict
	// Reset forgets the contents, which then read as zeros. It concerns no place.
	Reset

	numActions = iota
)

var actionNames = [numActions]string{"Read", "ReadWrite", "Overwrite", "MarkModified", "Evict", "Reset"}

// Actions lists every action in the order of their definition.
func Actions() []Action {
	return []Action{Read, ReadWrite, Overwrite, MarkModified, Evict, Reset}
}

// String returns the name of the action as Go code writes it.
func (a Action) String() string {
	if int(a) < len(actionNames) {
		return actionNames[a]
	}
	return "Action(" + strconv.Itoa(int(a)) + ")"
}

// Writes reports whether the action gives the range new contents at a place.
func (a Action) Writes() bool { return a == ReadWrite || a == Overwrite || a == MarkModified }

// Placed reports whether the action is done at a place. Only Reset is not, and ignores the
// place that it is given.
func (a Action) Placed() bool { return a != Reset }
