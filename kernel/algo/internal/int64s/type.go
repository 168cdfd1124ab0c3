// Package int64s has the kernels of package algo for int64.
package int64s

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

// T is the type of the elements.
type T = int64

func isNaN(v T) bool { return false }

// order returns a number that is ordered as the keys are.
func order(key T) uint64 { return uint64(key) ^ 1<<63 }
