package spheres

import (
	"bytes"
	"flag"
	"image"
	"image/draw"
	"image/png"
	"math"
	"os"
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

var write = flag.Bool("draw", false, "write the picture of the guide anew")

// The guide shows what the example draws: go test ./examples/pathtracer/spheres -run Picture -draw writes it. A smaller picture with fewer rays has the
// same colours, but for noise.
func TestPictureIsCurrent(t *testing.T) {
	const name, width, height, times = "../../../docs/spheres.png", 480, 270, 5
	q := halyard.Open(t.Context(), "host")
	small := Draw(q, width/times, height/times, 64, Scene)
	if *write {
		var b bytes.Buffer
		require.NoError(t, png.Encode(&b, Draw(q, width, height, 256, Scene)))
		require.NoError(t, os.WriteFile(name, b.Bytes(), 0o644))
	}
	require.NoError(t, q.Close())
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	decoded, err := png.Decode(f)
	require.NoError(t, err)
	whole := image.NewRGBA(decoded.Bounds())
	draw.Draw(whole, whole.Rect, decoded, image.Point{}, draw.Src)
	require.Equal(t, image.Rect(0, 0, width, height), whole.Rect)
	off := 0.0
	for i, c := range small.Pix {
		x, y, sum := i/4%(width/times)*times, i/4/(width/times)*times, 0
		for k := range times * times {
			sum += int(whole.Pix[whole.PixOffset(x+k%times, y+k/times)+i%4])
		}
		off += math.Abs(float64(c) - float64(sum)/times/times)
	}
	t.Logf("a number differs by %.1f in the mean", off/float64(len(small.Pix)))
	assert.Less(t, off/float64(len(small.Pix)), 1.5, "go test ./examples/pathtracer/spheres -run Picture -draw")
}
