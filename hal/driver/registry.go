package driver

import (
	"fmt"
	"slices"
	"strings"
	"sync"
)

var registry struct {
	sync.RWMutex
	backends []Backend // sorted by name
}

// Register makes a backend known to the program; backends call it from init. It
// panics for a backend without a name, or if the name is already registered, which
// is a mistake in the program's imports.
func Register(b Backend) {
	name := b.Name()
	if name == "" {
		panic("driver: Register of a backend without a name")
	}
	registry.Lock()
	defer registry.Unlock()
	i, found := slices.BinarySearchFunc(registry.backends, name, func(b Backend, n string) int {
		return strings.Compare(b.Name(), n)
	})
	if found {
		panic(fmt.Sprintf("driver: Register called twice for %q", name))
	}
	registry.backends = slices.Insert(registry.backends, i, b)
}

// Backends lists the registered backends, sorted by name.
func Backends() []Backend {
	registry.RLock()
	defer registry.RUnlock()
	return slices.Clone(registry.backends)
}
