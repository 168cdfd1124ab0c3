package array_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer/array"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

func from(t *testing.T, data []int32, shape ...int) *array.Array[int32] {
	t.Helper()
	return made(t)(array.From(data, shape...))
}

// The elements of a transposed array lie in another order than those of other arrays, so it gives no flat elements: code that pairs them
// by position with those of another array would pair the wrong ones.
func TestFlatElementsAreRowMajor(t *testing.T) {
	a := from(t, []int32{1, 2, 3, 4, 5, 6}, 2, 3)
	turned, err := a.Transpose()
	require.NoError(t, err)
	_, err = turned.Buffer()
	require.ErrorIs(t, err, hal.ErrUnsupported)
	require.ErrorContains(t, err, "Transpose().Buffer() has the elements in the order of memory")
	require.ErrorIs(t, turned.Want(coherence.Read).Err(), hal.ErrUnsupported)
	again, err := turned.Transpose()
	require.NoError(t, err)
	b, err := again.Buffer()
	require.NoError(t, err)
	require.Equal(t, 6, b.Len())
	row, err := turned.Slice(array.Between(0, 1), array.All())
	require.NoError(t, err)
	_, err = row.Buffer()
	require.ErrorIs(t, err, hal.ErrUnsupported, "1 by 2, with a gap")
}

// CopyFrom pairs elements by their indices, whatever the orders, gaps and overlap.
func TestCopyBetweenArraysOfAllOrders(t *testing.T) {
	wide := []int32{1, 2, 3, 4, 5, 6}
	make3 := map[string]func() *array.Array[int32]{
		"row-major": func() *array.Array[int32] { return from(t, make([]int32, 6), 2, 3) },
		"column-major": func() *array.Array[int32] {
			a, err := from(t, make([]int32, 6), 3, 2).Transpose()
			require.NoError(t, err)
			return a
		},
		"gaps": func() *array.Array[int32] {
			a, err := from(t, make([]int32, 24), 4, 6).Slice(array.All().By(2), array.All().By(-2))
			require.NoError(t, err)
			return a
		},
	}
	for to, target := range make3 {
		for of, source := range make3 {
			a, b := target(), source()
			require.NoError(t, b.CopyFrom(ctx, from(t, wide, 2, 3)), of)
			require.NoError(t, a.CopyFrom(ctx, b), "%s from %s", to, of)
			got, err := a.Values(ctx)
			require.NoError(t, err)
			require.Equal(t, wide, got, "%s from %s", to, of)
		}
	}
	square := from(t, []int32{1, 2, 3, 4}, 2, 2)
	turned, err := square.Transpose()
	require.NoError(t, err)
	require.NoError(t, square.CopyFrom(ctx, turned), "elements in common")
	got, err := square.Values(ctx)
	require.NoError(t, err)
	require.Equal(t, []int32{1, 3, 2, 4}, got)
	line := from(t, wide, 6)
	front, err := line.Slice(array.Between(0, 5))
	require.NoError(t, err)
	back, err := line.Slice(array.Between(1, 6))
	require.NoError(t, err)
	require.NoError(t, back.CopyFrom(ctx, front), "elements in common")
	got, err = line.Values(ctx)
	require.NoError(t, err)
	require.Equal(t, []int32{1, 1, 2, 3, 4, 5}, got)
	require.ErrorIs(t, square.CopyFrom(ctx, line), hal.ErrInvalidArgument)
	require.ErrorIs(t, square.CopyFrom(ctx, nil), hal.ErrInvalidArgument)
}

// Arrays of one order whose elements are on a device are copied there.
func TestCopyOnADevice(t *testing.T) {
	_, s := openDevice(t)
	a, b := from(t, []int32{1, 2, 3, 4}, 2, 2), from(t, make([]int32, 4), 2, 2)
	x, err := a.Transpose()
	require.NoError(t, err)
	y, err := b.Transpose()
	require.NoError(t, err)
	elements, err := a.Buffer()
	require.NoError(t, err)
	l, err := elements.TryAcquire(s, coherence.ReadWrite)
	require.NoError(t, err)
	require.NoError(t, l.Release())
	require.NoError(t, y.CopyFrom(ctx, x))
	to, err := b.Buffer()
	require.NoError(t, err)
	require.Equal(t, "DEVICE_DIRTY", to.State().Name)
	require.Zero(t, elements.Stats().BytesCopied-16, "only to the device")
	got, err := b.Values(ctx)
	require.NoError(t, err)
	require.Equal(t, []int32{1, 2, 3, 4}, got)
}
