//go:build !unix && !windows

package pages

// Maps says whether the system maps pages.
const Maps = false

// Map returns memory of the Go heap: this package maps no pages on other systems.
func Map(n uint64) ([]byte, error) { return make([]byte, n), nil }

// Unmap gives back what Map has returned.
func Unmap([]byte) error { return nil }
