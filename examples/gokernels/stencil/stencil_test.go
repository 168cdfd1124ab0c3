package stencil

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/examples/internal/everytest"
	"github.com/go-halyard/halyard/hal"
)

// Results are those of plain Go to the bit, whatever the shape of the grid.
func TestSmooth(t *testing.T) {
	everytest.Device(t, func(t *testing.T, stream *hal.Stream) error {
		for _, s := range []struct{ width, height int }{{1, 1}, {3, 3}, {100, 70}, {17, 301}} {
			w, n := s.width, s.width*s.height
			was := make([]float32, n)
			for i := range was {
				was[i] = float32(i%97-48) / 7
			}
			from, e1 := buffer.From(was)
			to, e2 := buffer.New[float32](n)
			err := errors.Join(e1, e2)
			if err == nil {
				err = SmoothOn(t.Context(), stream, hal.Over(s.width, s.height), int32(s.width), int32(s.height), from, to)
			}
			got := make([]float32, n)
			if err := errors.Join(err, to.CopyOut(t.Context(), got), hal.CloseAll(from, to)); err != nil {
				return err
			}
			want := append([]float32(nil), was...)
			for y := 1; y < s.height-1; y++ {
				for i := y*w + 1; i < y*w+w-1; i++ {
					want[i] = (was[i-1] + was[i+1] + was[i-w] + was[i+w]) / 4
				}
			}
			assert.Equal(t, want, got, "%+v", s)
		}
		return nil
	})
}
