package dl

import "github.com/ebitengine/purego"

// NewEntry2 makes a C entry for a Go function of two words, for tests.
func NewEntry2(fn func(a, b uintptr) uintptr) uintptr { return purego.NewCallback(fn) }

// NewEntry12 makes a C entry for a Go function of twelve words, for tests.
func NewEntry12(fn func(args [MaxArgs]uintptr) uintptr) uintptr {
	return purego.NewCallback(func(a, b, c, d, e, f, g, h, i, j, k, l uintptr) uintptr {
		return fn([MaxArgs]uintptr{a, b, c, d, e, f, g, h, i, j, k, l})
	})
}

// RunOneByOne is Run on systems for which there is no assembly.
func (s *Sequence) RunOneByOne() { s.oneByOne() }
