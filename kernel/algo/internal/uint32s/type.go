// Package uint32s has the kernels of package algo for uint32.
package uint32s

//go:generate go run github.com/go-halyard/halyard/cmd/halyard kernels .

// T is the type of the elements.
type T = uint32

func isNaN(v T) bool { return false }

// order returns a number that is ordered as the keys are.
func order(key T) uint32 { return key }
