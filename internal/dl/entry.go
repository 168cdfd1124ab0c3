package dl

import "github.com/ebitengine/purego"

// NewEntry returns the address of a new C function that takes one word and calls fn with it, on the
// thread of its caller. A process can have only about two thousand entries and cannot free one: make one for each purpose.
func NewEntry(fn func(word uintptr)) uintptr {
	return purego.NewCallback(func(word uintptr) uintptr {
		fn(word)
		return 0
	})
}
