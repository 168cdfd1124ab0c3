package modeltest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/backends/host"
	"github.com/go-halyard/halyard/hal"
)

// FuzzCalls reads a program from the input: which calls are made of one buffer, on which devices and ranges. Every byte that
// is seen, and every byte that moves, is held against a plain slice.
func FuzzCalls(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{200, 30, 3, 0, 255, 0, 1, 1, 10, 90, 4, 0, 128, 1, 1})
	f.Add([]byte("\x40\x20\x05\x00\x40\x01\x00\x03\x10\x20\x00\x01\x00\x00\x40\x09\x00\x40\x02\x00\x0a\x00\x40"))
	b := host.New(host.Options{Name: "fuzzed", Discrete: 3})
	fleet := Fleet{}
	for _, ordinal := range []int{0, 1, 2, 3} {
		d, err := hal.OpenWith(ctx, b, ordinal)
		require.NoError(f, err)
		fleet.Devices = append(fleet.Devices, d)
		var pair []*hal.Stream
		for range 2 {
			s, err := d.NewStream()
			require.NoError(f, err)
			pair = append(pair, s)
		}
		fleet.Streams = append(fleet.Streams, pair)
	}
	f.Fuzz(func(t *testing.T, program []byte) {
		Run(t, func(label string, lo, hi int) int {
			if label == "actions" {
				return min(hi, len(program)/4+1)
			}
			if len(program) == 0 {
				return lo
			}
			n := int(program[0])
			program = program[1:]
			return lo + n%(hi-lo+1)
		}, fleet, 256, 200)
	})
}
