package mandelbrot

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

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
