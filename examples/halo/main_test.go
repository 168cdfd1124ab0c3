package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
)

// onHost is run on devices of the host backend that have memory of their own.
func onHost(t *testing.T, out io.Writer, devices, n, steps int) error {
	t.Setenv("HALYARD_HOST_DEVICES", fmt.Sprint(devices))
	var names []string
	for i := range devices {
		names = append(names, fmt.Sprint("host:", i+1))
	}
	return run(t.Context(), out, names, n, steps)
}

// The result is that of the host alone, and what moves is the parts once, each with its halo, and then the halos alone.
func TestOnlyHalosMove(t *testing.T) {
	for _, c := range []struct{ devices, n, steps int }{
		{1, 10, 3}, {2, 2, 5}, {2, 1000, 20}, {3, 3, 4}, {5, 1003, 20},
	} {
		var out bytes.Buffer
		require.NoError(t, onHost(t, &out, c.devices, c.n, c.steps), "%+v", c)
		halos := 2 * (c.devices - 1)
		assert.Equal(t, fmt.Sprintf("%d elements on %d devices: first step %d bytes, %d later steps %d bytes, the same as on the host\n",
			c.n, c.devices, 4*(c.n+halos), c.steps-1, 4*halos*(c.steps-1)), out.String())
	}
}

// The page about halos shows what the program prints.
func TestGuideShowsTheOutput(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, onHost(t, &out, 3, 3000, 100))
	page, err := os.ReadFile("../../docs/guide/halos.md")
	require.NoError(t, err)
	assert.Contains(t, string(page), "    "+out.String())
}

func TestTooFewElementsAreRefused(t *testing.T) {
	for _, c := range []struct{ devices, n, steps int }{{0, 10, 1}, {3, 2, 1}, {1, 10, 0}} {
		assert.ErrorIs(t, onHost(t, &bytes.Buffer{}, c.devices, c.n, c.steps), hal.ErrInvalidArgument, "%+v", c)
	}
}
