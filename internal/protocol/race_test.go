//go:build race

package protocol

// The race detector slows these down without learning more from their size.
const (
	bytes = 2
	many  = 100_000
)
