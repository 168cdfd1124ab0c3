package dl

import "github.com/ebitengine/purego"

// NewEntry makes a C function of one word that calls fn, from whatever thread. A process can
// have only some two thousand entries and never gets one back: make one for each purpose.
func NewEntry(fn func(word uintptr)) uintptr {
	return purego.NewCallback(func(word uintptr) uintptr {
		fn(word)
		return 0
	})
}
