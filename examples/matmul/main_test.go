package main

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/go-halyard/halyard/examples/internal/everytest"
	"github.com/go-halyard/halyard/hal"
)

// Products are those of plain Go to the bit, whatever is left over beside whole tiles.
func TestProductsAreExact(t *testing.T) {
	everytest.Device(t, func(t *testing.T, stream *hal.Stream) error {
		for _, s := range []struct{ rows, cols, inner int }{{1, 1, 1}, {16, 16, 16}, {17, 15, 33}, {100, 50, 70}, {3, 200, 1}} {
			a, b := matrix(s.rows*s.inner), matrix(s.inner*s.cols)
			got, err := run(t.Context(), stream, a, b, s.rows, s.cols, s.inner)
			if err != nil {
				return err
			}
			assert.Equal(t, plain(a, b, s.rows, s.cols, s.inner), got, "%+v", s)
		}
		return nil
	})
}
