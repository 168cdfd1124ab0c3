package array_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer/array"
	"github.com/go-halyard/halyard/hal"
)

func TestHullHasWhatStridesReach(t *testing.T) {
	a, err := array.Full[int32](3, 6, 7)
	require.NoError(t, err)
	part, err := a.Slice(array.Between(1, 5).By(-2), array.Between(2, 6).By(3))
	require.NoError(t, err)
	b, first, err := part.Bounds()
	require.NoError(t, err)
	// Rows 4 and 2, columns 2 and 5: from place 2*7+2 to place 4*7+5.
	require.Equal(t, 4*7+5-(2*7+2)+1, b.Len())
	require.Equal(t, 4*7+2-(2*7+2), first)
	require.NoError(t, b.Update(ctx, func(s []int32) error {
		require.EqualValues(t, 3, s[first])
		s[first+part.Strides()[0]+part.Strides()[1]] = 9
		return nil
	}))
	got, err := part.Values(ctx)
	require.NoError(t, err)
	require.Equal(t, []int32{3, 3, 3, 9}, got)
	require.ErrorIs(t, b.Close(), hal.ErrInvalidArgument, "it is closed with the array")
	whole, first, err := a.Bounds()
	require.NoError(t, err)
	require.Equal(t, 42, whole.Len())
	require.Zero(t, first)
	_, _, err = (&array.Array[int32]{}).Bounds()
	require.ErrorIs(t, err, hal.ErrInvalidArgument)
	require.NoError(t, a.Close())
}
