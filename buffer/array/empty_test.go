package array_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-halyard/halyard/buffer"
	"github.com/go-halyard/halyard/buffer/array"
	"github.com/go-halyard/halyard/coherence"
	"github.com/go-halyard/halyard/hal"
)

// An array with an extent of 0 has no elements, and does all that others do.
func TestNoElements(t *testing.T) {
	_, s := openDevice(t)
	whole := made(t)(array.From([]int32{0, 1, 2, 3, 4, 5}, 2, 3))
	b, err := buffer.New[int32](4)
	require.NoError(t, err)
	defer b.Close()
	columns := view(t)(whole.Slice(array.All(), array.Between(1, 1)))
	for name, a := range map[string]*array.Array[int32]{
		"new":          made(t)(array.New[int32](0)),
		"column-major": made(t)(array.NewIn[int32](array.ColumnMajor, 3, 0, 2)),
		"from":         made(t)(array.From([]int32{}, 2, 0)),
		"full":         made(t)(array.Full[int32](7, 0, 4)),
		"strides":      view(t)(array.FromStrides(b, 4, []int{2, 0}, []int{-9, 0})),
		"no rows":      view(t)(whole.Slice(array.Between(1, 1))),
		"no columns":   view(t)(whole.Slice(array.All().By(-1), array.Between(3, array.End))),
		"select":       view(t)(columns.Select(0, 1)),
	} {
		t.Run(name, func(t *testing.T) {
			require.Zero(t, a.Len())
			require.Zero(t, a.Offset())
			require.True(t, a.IsContiguous(array.RowMajor) && a.IsContiguous(array.ColumnMajor))
			none := func(g array.Accessor[int32]) error {
				for range g.All() {
					t.Error("an element")
				}
				all, err := g.Slice()
				require.NoError(t, err)
				require.Empty(t, all)
				if shape := a.Shape(); len(shape) == 2 && shape[0] > 0 {
					row, err := g.Row(shape[0] - 1)
					require.NoError(t, err)
					require.Empty(t, row)
				}
				return nil
			}
			require.NoError(t, a.View(ctx, none))
			require.NoError(t, a.Update(ctx, none))
			require.NoError(t, a.Overwrite(ctx, none))
			values, err := a.Values(ctx)
			require.NoError(t, err)
			require.Empty(t, values)
			l, err := a.Acquire(ctx, s, coherence.ReadWrite)
			require.NoError(t, err)
			require.NoError(t, s.Fill(l.Region(), hal.Zero))
			require.NoError(t, l.Release())
			l, err = a.AcquireStrided(ctx, s, coherence.Overwrite)
			require.NoError(t, err)
			require.NoError(t, l.Release())
			_, first, err := a.Bounds()
			require.NoError(t, err)
			require.Zero(t, first)
			require.Equal(t, a.Shape(), made(t)(a.Pack(ctx)).Shape())
			require.Equal(t, []int{5, 0, 7}, view(t)(a.Reshape(5, 0, 7)).Shape())
			_, err = a.Transpose()
			require.NoError(t, err)
			var out bytes.Buffer
			_, err = a.WriteNPY(ctx, &out)
			require.NoError(t, err)
			require.Equal(t, a.Shape(), made(t)(array.ReadNPY[int32](&out)).Shape())
		})
	}
	gone := made(t)(array.New[int32](2, 0))
	require.NoError(t, gone.Close())
	_, err = gone.Values(ctx)
	require.ErrorIs(t, err, hal.ErrClosed)
}

// A nil or zero array has no elements and no axes, and printing an array says what it is.
func TestNilArrayAndString(t *testing.T) {
	for _, a := range []*array.Array[int32]{nil, {}} {
		require.Zero(t, a.Len())
		require.Zero(t, a.Offset())
		require.Empty(t, a.Shape())
		require.Empty(t, a.Strides())
		require.Equal(t, "no array of int32", fmt.Sprint(a))
		require.ErrorIs(t, a.Want(coherence.Read).Err(), hal.ErrInvalidArgument)
	}
	a, err := array.New[int32](2, 3)
	require.NoError(t, err)
	require.Equal(t, "array of shape [2 3] in a buffer of 6 int32", fmt.Sprint(a))
	require.NoError(t, a.Close())
	require.Equal(t, "array of shape [2 3] in a closed buffer of 6 int32", fmt.Sprint(a))
}

// No call takes a nil context.
func TestNilContextsAreRefused(t *testing.T) {
	var none context.Context
	_, s := openDevice(t)
	whole := counted(t, array.RowMajor, 4, 4)
	part := view(t)(whole.Slice(array.All(), array.Between(1, 3)))
	nothing := func(array.Accessor[int32]) error { return nil }
	for _, a := range []*array.Array[int32]{whole, part} {
		for name, call := range map[string]func() error{
			"View":           func() error { return a.View(none, nothing) },
			"Update":         func() error { return a.Update(none, nothing) },
			"Overwrite":      func() error { return a.Overwrite(none, nothing) },
			"At":             func() error { _, err := a.At(none, 0, 0); return err },
			"Set":            func() error { return a.Set(none, 1, 0, 0) },
			"Pack":           func() error { _, err := a.Pack(none); return err },
			"CopyFrom":       func() error { return a.CopyFrom(none, counted(t, array.RowMajor, 4, a.Shape()[1])) },
			"Values":         func() error { _, err := a.Values(none); return err },
			"WriteNPY":       func() error { _, err := a.WriteNPY(none, io.Discard); return err },
			"AcquireStrided": func() error { _, err := a.AcquireStrided(none, s, coherence.Read); return err },
		} {
			err := call()
			require.ErrorIs(t, err, hal.ErrInvalidArgument, name)
			require.ErrorContains(t, err, "nil context", name)
		}
	}
}
