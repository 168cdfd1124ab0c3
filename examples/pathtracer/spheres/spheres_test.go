package spheres

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
		want[i] = Pixel(i%width, i/width, width, height, samples, Scene)
	}
	everytest.Device(t, func(t *testing.T, stream *hal.Stream) error {
		q := halyard.On(t.Context(), stream)
		picture := Draw(q, width, height, samples, Scene)
		if err := q.Close(); err != nil {
			return err
		}
		require.Equal(t, image.Rect(0, 0, width, height), picture.Rect)
		off := 0
		for i, c := range want {
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
