package saxpy

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/examples/internal/everytest"
	"github.com/go-halyard/halyard/hal"
)

// Results are those of plain Go to the bit, in whole blocks and beyond.
func TestSaxpy(t *testing.T) {
	everytest.Device(t, func(t *testing.T, stream *hal.Stream) error {
		for _, n := range []int{1, 255, 4096, 10001} {
			xs, want := make([]float32, n), make([]float32, n)
			for i := range xs {
				xs[i], want[i] = float32(i)/7, float32(n-i)/3
			}
			x, e1 := buffer.From(xs)
			y, e2 := buffer.From(want)
			err := errors.Join(e1, e2)
			if err == nil {
				err = SaxpyOn(t.Context(), stream, hal.Over(n), 1.7, x, y)
			}
			got := make([]float32, n)
			if err := errors.Join(err, y.CopyOut(t.Context(), got), hal.CloseAll(x, y)); err != nil {
				return err
			}
			for i := range want {
				want[i] += float32(1.7 * xs[i])
			}
			assert.Equal(t, want, got)
		}
		return nil
	})
}
