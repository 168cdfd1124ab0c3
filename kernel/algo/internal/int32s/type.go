// Package int32s has the kernels of package algo for int32.
package int32s

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

// T is the type of the elements.
type T = int32

func isNaN(v T) bool { return false }

// order returns a number that is ordered as the keys are.
func order(key T) uint32 { return uint32(key) ^ 1<<31 }
