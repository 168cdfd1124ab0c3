//go:build !race

package protocol

const (
	bytes = 3         // of the maps that are searched
	many  = 1_000_000 // intervals
)
