package hal_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/hal"
)

// Sub counts from the region's start, and never reaches past its end.
func TestSubregions(t *testing.T) {
	d := openHost(t, 1, 1)
	whole := newMemory(t, d, 64)
	r := whole.Region(8, 32)
	for _, c := range []struct {
		off, n uint64
		kind   error // nil if there is such a region
	}{
		{0, 32, nil},
		{4, 8, nil},
		{31, 1, nil},
		{32, 0, nil},
		{0, 33, hal.ErrOutOfRange},
		{1, 32, hal.ErrOutOfRange},
		{33, 0, hal.ErrOutOfRange},
		{32, 1, hal.ErrOutOfRange},
		{math.MaxUint64, 2, hal.ErrOutOfRange}, // the sum overflows to 1
		{1, math.MaxUint64, hal.ErrOutOfRange},
	} {
		sub, err := r.Sub(c.off, c.n)
		if c.kind != nil {
			require.ErrorIs(t, err, c.kind, "%+v", c)
			require.Zero(t, sub, "%+v", c)
			continue
		}
		require.NoError(t, err, "%+v", c)
		require.Equal(t, whole.Region(8+c.off, c.n), sub)
		if c.n > 1 {
			inner, err := sub.Sub(1, c.n-1)
			require.NoError(t, err)
			require.Equal(t, whole.Region(9+c.off, c.n-1), inner)
		}
	}
	_, err := hal.Region{}.Sub(0, 0)
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
}
