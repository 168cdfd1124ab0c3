package mandelbrot

import (
	"bytes"
	"errors"
	"flag"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard"
	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/examples/internal/everytest"
	"github.com/go-halyard/halyard/hal"
)

// Each point is that of plain Go, and points in and out of the set are what they should be.
func TestMandelbrot(t *testing.T) {
	everytest.Device(t, func(t *testing.T, stream *hal.Stream) error {
		v := View{Left: -2, Top: -1.25, Step: 0.02, Width: 150, Height: 125, Rounds: 60}
		n := int(v.Width * v.Height)
		rounds, err := buffer.New[int32](n)
		if err != nil {
			return err
		}
		got := make([]int32, n)
		err = MandelbrotOn(t.Context(), stream, hal.Over(int(v.Width), int(v.Height)), v, rounds)
		if err := errors.Join(err, rounds.CopyOut(t.Context(), got), hal.CloseAll(rounds)); err != nil {
			return err
		}
		want := make([]int32, n)
		for i := range want {
			cx, cy := v.Left+float32(float32(i%150)*v.Step), v.Top+float32(float32(i/150)*v.Step)
			x, y := float32(0), float32(0)
			for float32(x*x)+float32(y*y) <= 4 && want[i] < v.Rounds {
				x, y = float32(x*x)-float32(y*y)+cx, float32(2*x*y)+cy
				want[i]++
			}
		}
		assert.Equal(t, want, got)
		assert.EqualValues(t, 60, got[62*150+100], "0 stays")
		assert.EqualValues(t, 1, got[0], "a corner leaves at once")
		return nil
	})
}

var draw = flag.Bool("draw", false, "write the picture of the guide anew")

// The guide shows what the kernel draws: go test ./examples/gokernels/mandelbrot -run Picture -draw writes it.
func TestPictureIsCurrent(t *testing.T) {
	const name = "../../../docs/mandelbrot.png"
	v := View{Left: -2.1, Top: -0.95, Step: 0.00594, Width: 480, Height: 320, Rounds: 96}
	q := halyard.Open(t.Context(), "host")
	rounds := halyard.New[int32](q, int(v.Width*v.Height))
	Mandelbrot(q.Over(int(v.Width), int(v.Height)), v, rounds)
	picture := image.NewPaletted(image.Rect(0, 0, int(v.Width), int(v.Height)), make(color.Palette, v.Rounds+1))
	for n := range v.Rounds {
		light := math.Sqrt(float64(n) / float64(v.Rounds))
		picture.Palette[n] = color.RGBA{uint8(20 + 235*light), uint8(30 + 200*light*light), uint8(70 + 90*light), 255}
	}
	picture.Palette[v.Rounds] = color.Black // these stay
	for i, n := range rounds.Values() {
		picture.Pix[i] = uint8(n)
	}
	require.NoError(t, q.Close())
	if *draw {
		var b bytes.Buffer
		require.NoError(t, png.Encode(&b, picture))
		require.NoError(t, os.WriteFile(name, b.Bytes(), 0o644))
	}
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	got, err := png.Decode(f)
	require.NoError(t, err)
	assert.True(t, bytes.Equal(picture.Pix, got.(*image.Paletted).Pix), "go test ./examples/gokernels/mandelbrot -run Picture -draw")
}
