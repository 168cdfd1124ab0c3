package main

import (
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/examples/internal/everytest"
	"github.com/go-halyard/halyard/hal"
)

var small = view{Left: -2.2, Top: -1.2, Step: 2.4 / 75, Width: 101, Height: 75, Limit: 100}

// Every pixel takes the steps that it takes in plain Go, where the picture is not a whole number of blocks too.
func TestPixelsAreExact(t *testing.T) {
	everytest.Device(t, func(t *testing.T, stream *hal.Stream) error {
		for _, v := range []view{small, {Left: -0.75, Top: 0.1, Step: 1e-4, Width: 1, Height: 33, Limit: 500}} {
			got, err := run(t.Context(), stream, v)
			if err != nil {
				return err
			}
			assert.Equal(t, plain(v), got)
		}
		return nil
	})
}

// The file is a picture: black inside, coloured outside.
func TestPictureIsWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "m.png")
	require.NoError(t, write(file, picture(small, plain(small))))
	f, err := os.Open(file)
	require.NoError(t, err)
	defer f.Close()
	m, err := png.Decode(f)
	require.NoError(t, err)
	require.Equal(t, 101, m.Bounds().Dx())
	r, g, b, _ := m.At(69, 37).RGBA() // near 0
	assert.Zero(t, r+g+b)
	r, _, _, _ = m.At(60, 2).RGBA()
	assert.NotZero(t, r)
}
