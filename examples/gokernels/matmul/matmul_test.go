package matmul

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/examples/internal/everytest"
	"github.com/go-halyard/halyard/hal"
	"github.com/go-halyard/halyard/kernel"
	"github.com/go-halyard/halyard/kernel/grid"
)

// Products are those of plain Go to the bit, whatever is left over beside whole tiles.
func TestMatmul(t *testing.T) {
	everytest.Device(t, func(t *testing.T, stream *hal.Stream) error {
		for _, s := range []struct{ rows, cols, inner int }{{1, 1, 1}, {16, 16, 16}, {17, 15, 33}, {60, 50, 70}} {
			as, bs := numbers(s.rows*s.inner), numbers(s.inner*s.cols)
			a, e1 := buffer.From(as)
			b, e2 := buffer.From(bs)
			c, e3 := buffer.New[float32](s.rows * s.cols)
			err := errors.Join(e1, e2, e3)
			if err == nil {
				err = MatmulOn(t.Context(), stream, hal.Over(s.cols, s.rows).Of(tile, tile), kernel.InRows(a, s.inner), kernel.InRows(b, s.cols), kernel.InRows(c, s.cols))
			}
			got := make([]float32, s.rows*s.cols)
			if err := errors.Join(err, c.CopyOut(t.Context(), got), hal.CloseAll(a, b, c)); err != nil {
				return err
			}
			want := make([]float32, s.rows*s.cols)
			for i := range s.rows {
				for k := range s.inner {
					for j := range s.cols {
						want[i*s.cols+j] = grid.FMA(as[i*s.inner+k], bs[k*s.cols+j], want[i*s.cols+j])
					}
				}
			}
			assert.Equal(t, want, got, "%+v", s)
		}
		return nil
	})
}

// numbers returns n numbers that are not round.
func numbers(n int) []float32 {
	m := make([]float32, n)
	for i := range m {
		m[i] = float32(i%97-48) / 7
	}
	return m
}
