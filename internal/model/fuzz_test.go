package model

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzPrograms reads a program from the input.
func FuzzPrograms(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{200, 30, 3, 0, 255, 0, 1, 1, 10, 90, 4, 0, 128, 1, 1})
	f.Add([]byte("\x40\x20\x05\x00\x40\x01\x00\x03\x10\x20\x00\x01\x00\x00\x40\x09\x00\x40\x02\x00\x0a\x00\x40"))
	fleet := devices(f, nil)
	f.Fuzz(func(t *testing.T, input []byte) {
		p := Generate(func(label string, lo, hi int) int {
			if label == "operations" {
				return min(hi, len(input)/4+1)
			}
			if len(input) == 0 {
				return lo
			}
			n := int(input[0])
			input = input[1:]
			return lo + n%(hi-lo+1)
		}, fleet, 256, 200)
		require.NoError(t, Run[uint16](t.Context(), fleet, p), "%s", p)
	})
}
