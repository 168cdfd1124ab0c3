package main

import (
	"image"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/examples/internal/everytest"
	"github.com/go-halyard/halyard/hal"
)

// The picture is that of plain Go. Devices may round otherwise, and then a few rays go elsewhere.
func TestDraw(t *testing.T) {
	const width, height, samples = 48, 27, 4
	var want [width * height]vec
	for i := range want {
		state, x, y := uint32(i), i%width, i/width
		for range samples {
			right := (float32(x) + random(&state) - float32(width)/2) / float32(height)
			up := (float32(height)/2 - float32(y) - random(&state)) / float32(height)
			want[i] = want[i].add(colour(scene, vec{0, 1, 4}, vec{right, up - 0.15, -1}.unit(), &state))
		}
	}
	everytest.Device(t, func(t *testing.T, stream *hal.Stream) error {
		q := halyard.On(t.Context(), stream)
		picture := draw(q, width, height, samples, scene)
		if err := q.Close(); err != nil {
			return err
		}
		require.Equal(t, image.Rect(0, 0, width, height), picture.Rect)
		off := 0
		for i, sum := range want {
			c := sum.scale(1.0 / samples)
			for j, v := range []float32{c.X, c.Y, c.Z} {
				if got := int(picture.Pix[4*i+j]); got < int(255*root(v))-1 || got > int(255*root(v))+1 {
					off++
				}
			}
		}
		t.Logf("%d of %d numbers differ", off, 3*len(want))
		assert.Less(t, off, 3*len(want)/50)
		return nil
	})
}
