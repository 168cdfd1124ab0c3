package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
)

// TestBothSidesComputeWhatGoDoes runs everything that is measured, on few elements. Ready compares the results with plain Go's.
func TestBothSidesComputeWhatGoDoes(t *testing.T) {
	devices, err := openCL(t.Context())
	if err != nil {
		t.Skip(err)
	}
	for _, d := range devices {
		t.Run(d.Name(), func(t *testing.T) {
			dev, err := hal.Open(t.Context(), d.Name())
			require.NoError(t, err)
			s, err := dev.NewStream()
			require.NoError(t, err)
			for _, w := range works(96) {
				_, _, closeAll, err := w.ready(t.Context(), s)
				require.NoError(t, err)
				require.NoError(t, closeAll())
			}
			require.NoError(t, s.Close())
			require.NoError(t, dev.Close())
		})
	}
}
